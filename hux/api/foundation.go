package api

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/schema"
)

// Foundation is what /hux/v1 says of itself: capabilities, manifest, the
// OpenAPI document and the schemas.
type Foundation struct {
	Schemas        *schema.Set
	Flags          hux.Flags
	Build          hux.Build
	StreamsPerUser int
	VectorsSHA256  string         // hash of the rules' test vectors, in hex
	Modes          []ManifestMode // the modes that there are
}

// Routes are its own lines of /hux/v1 before those of the cards, all of which
// it describes.
func (f Foundation) Routes(cards []Route) ([]Route, error) {
	var manifest func() Manifest
	var openAPI json.RawMessage
	var served map[string]bool
	flags := []string{"hux.foundation"}
	routes := append([]Route{
		{
			Method: "GET", Path: "/capabilities", Summary: "What this router can do for the one who asks",
			Flags: flags, Anyone: true, Record: "hux.capabilities.v1",
			Handler: func(w http.ResponseWriter, _ *http.Request, c *Call) error {
				v := NewCapabilities(f.Flags, served, c)
				v.Limits["streams_per_user"] = int64(f.StreamsPerUser)
				if v.Flags["hux.friendly_modes"].Enabled {
					for _, m := range f.Modes {
						v.Modes = append(v.Modes, m.Mode)
					}
				}
				return JSON(w, http.StatusOK, v)
			},
		},
		{
			Method: "GET", Path: "/manifest", Summary: "What the contract consists of",
			Flags: flags, Anyone: true, Record: "hux.manifest.v1",
			Handler: func(w http.ResponseWriter, _ *http.Request, c *Call) error {
				answer := manifest()
				answer.Provenance = c.Provenance()
				return JSON(w, http.StatusOK, answer)
			},
		},
		{
			Method: "GET", Path: "/openapi.json", Summary: "This API as an OpenAPI 3.1 document",
			Flags: flags, Anyone: true,
			Handler: func(w http.ResponseWriter, _ *http.Request, _ *Call) error { return JSON(w, http.StatusOK, openAPI) },
		},
		{
			Method: "GET", Path: "/schemas/{name}", Summary: "A schema, byte for byte as the manifest's hash has it",
			Flags: flags, Anyone: true, Handler: f.schema,
		},
	}, cards...)
	served = Served(routes)
	at := hux.Now()
	manifest = sync.OnceValue(func() Manifest { return f.manifest(routes, at) }) // it compiles every schema, which few ask for
	var err error
	openAPI, err = OpenAPI(routes, f.Schemas)
	return routes, err
}

// schema answers with a schema's file, whose references to defs.json hold
// under this path too.
func (f Foundation) schema(w http.ResponseWriter, r *http.Request, _ *Call) error {
	file := f.Schemas.File(strings.TrimSuffix(r.PathValue("name"), ".json"))
	if file == nil {
		return hux.Errorf(hux.NotFound, "There is no such schema; the manifest lists those there are.")
	}
	write(w, http.StatusOK, "application/schema+json", file)
	return nil
}

// Manifest is hux.manifest.v1: what the contract consists of, so that a
// consumer can tell whether its copy is the same.
type Manifest struct {
	Schema          string           `json:"schema"`
	ContractVersion string           `json:"contract_version"`
	Records         []ManifestRecord `json:"records"`
	Routes          []ManifestRoute  `json:"routes"`
	Rules           ManifestRules    `json:"rules"`
	ModesCatalog    []ManifestMode   `json:"modes_catalog"`
	GeneratedAt     hux.Time         `json:"generated_at"`
	Provenance      hux.Provenance   `json:"provenance"`
}

// ManifestRecord names a schema, of a record or of a request's body.
type ManifestRecord struct {
	Schema  string `json:"schema"`
	SHA256  string `json:"json_schema_sha256"` // of the file that GET /schemas/{name} gives
	Mutable bool   `json:"mutable"`            // has revisions
}

// ManifestRoute is a route under one of the flags that serve it.
type ManifestRoute struct {
	Method string  `json:"method"`
	Path   string  `json:"path"`
	Flag   string  `json:"flag"`
	Record *string `json:"record"` // null where it answers with other JSON
}

// ManifestRules names the test vectors of what no schema can say.
type ManifestRules struct {
	VectorsSHA256 string `json:"vectors_sha256"` // of the lines of sha256sum, see tests/vectors
}

// ManifestMode is a mode with the route it takes unless it is told otherwise.
type ManifestMode struct {
	Mode         string `json:"mode"`
	DefaultRoute string `json:"default_route"`
	InSwitchyard bool   `json:"in_switchyard"`
}

func (f Foundation) manifest(routes []Route, at hux.Time) Manifest {
	m := Manifest{
		Schema: "hux.manifest.v1", ContractVersion: hux.ContractVersion, GeneratedAt: at,
		Records: []ManifestRecord{}, Routes: []ManifestRoute{}, ModesCatalog: append([]ManifestMode{}, f.Modes...),
		Rules: ManifestRules{f.VectorsSHA256},
	}
	for _, name := range f.Schemas.Names() {
		if name == "defs" {
			continue // no record of its own
		}
		sum := sha256.Sum256(f.Schemas.File(name))
		m.Records = append(m.Records, ManifestRecord{name, hex.EncodeToString(sum[:]), f.Schemas.Mutable(name)})
	}
	for _, rt := range routes {
		for _, flag := range rt.Flags {
			line := ManifestRoute{Method: rt.Method, Path: Prefix + rt.Path, Flag: flag}
			if rt.Record != "" {
				line.Record = &rt.Record
			}
			m.Routes = append(m.Routes, line)
		}
	}
	return m
}
