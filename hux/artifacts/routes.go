// Package artifacts is the card HUX-04: what was made, in versions, with differences, lineage and promotion. HUX-07, images, audio and transcripts, are artifacts too.
package artifacts

import "bstein.dev/hux/hux/api"

// Flag is the card's flag.
const Flag = "hux.artifacts"

// Multimodal is the flag of HUX-07.
const Multimodal = "hux.multimodal"

// Routes are the card's lines of /hux/v1.
func Routes() []api.Route {
	return []api.Route{}
}
