package hux

// ForbiddenTopics are those that no card writes down as remembered and no
// policy may open (contracts 3): what they do in wrong hands can't be undone by
// forgetting.
var ForbiddenTopics = []string{"credentials", "minors", "location", "biometric"}

// SensitiveTopics are those with which what is remembered is sensitive, whatever
// else is said of it: the policy's class of that name (contracts 3).
var SensitiveTopics = []string{"health", "finance", "legal", "religion", "politics", "sexuality", "ethnicity"}

// MaxSensitiveDays is how long what is remembered of a sensitive topic may be
// kept (contracts 2.7).
const MaxSensitiveDays = 30
