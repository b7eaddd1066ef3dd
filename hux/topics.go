package hux

// ForbiddenTopics are those that no card writes down as remembered and no
// policy may open (contracts 3): what they do in wrong hands can't be undone by
// forgetting.
var ForbiddenTopics = []string{"credentials", "minors", "location", "biometric"}

// MaxSensitiveDays is how long what is remembered of a sensitive topic may be
// kept (contracts 2.7).
const MaxSensitiveDays = 30
