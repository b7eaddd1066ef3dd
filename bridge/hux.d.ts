// The records of HUX and the bodies of its requests, made from schemas/ by make
// types-generate: do not change them here. A record may have members besides,
// of a later version; bounds and patterns are in the schemas alone.

export namespace defs {
  /** A record's id: a prefix and a UUIDv7 as 32 lower-case hex digits. Opaque and never reused. */
  export type Id = string;

  export type EventId = string;

  export type ConversationId = string;

  export type ProjectId = string;

  export type ArtifactId = string;

  export type MemoryId = string;

  export type ApprovalId = string;

  export type GrantId = string;

  export type ReceiptId = string;

  export type PolicyId = string;

  export type SourceId = string;

  export type PassageId = string;

  export type CitationId = string;

  export type NotebookId = string;

  export type NoticeId = string;

  export type AuditId = string;

  export type ReleaseId = string;

  /** A stable key of the catalogue. */
  export type SuggestionId = string;

  /** A person, by a keyed hash that says nothing of who they are. */
  export type UserId = string;

  export type AgentId = string;

  /** An id of the gateway: a message, run, session or tool call. Never parsed. */
  export type ForeignId = string;

  /** RFC 3339 in UTC with milliseconds. Never used for ordering. */
  export type Timestamp = string;

  export type Digest = string;

  export type Commit = string;

  export type Sha256 = string;

  /** The format hux-name: 1 to 200 characters after NFC, without control characters and bidirectional overrides. */
  export type Name = string;

  export type Tags = string[];

  export type Surface = 'chat' | 'worker' | 'telegram' | 'voice';

  /** Who does something. Comes from the credential, never from a body. */
  export interface Actor {
    kind: 'human' | 'agent' | 'worker' | 'system';
    id: string;
  }

  /** Which build did it; null where it is not known. */
  export interface Build {
    commit: defs.Commit | null;
    image_digest: defs.Digest | null;
  }

  /** A friendly mode or a pinned route; no vendor's word. */
  export type RequestedRoute = string;

  /** What was asked for, and where it ran. */
  export interface Route {
    requested: defs.RequestedRoute;
    locality: 'local' | 'hosted' | 'none';
  }

  /** Where a record comes from. */
  export interface Provenance {
    surface: defs.Surface;
    actor: defs.Actor;
    time: defs.Timestamp;
    session_id: defs.ForeignId | null;
    run_id: defs.ForeignId | null;
    route: defs.Route | null;
    build: defs.Build;
  }

  /** Evidence by reference, never its content. */
  export interface EvidenceRef {
    kind: 'tool_call' | 'message' | 'event' | 'memory' | 'artifact_version' | 'source' | 'passage' | 'approval' | 'receipt' | 'ci_build' | 'commit' | 'image_digest' | 'registry_manifest' | 'flux_revision' | 'pod' | 'probe' | 'attestation';
    id: string;
    hash?: defs.Digest;
    owner: 'hux' | 'gateway' | 'ci' | 'registry' | 'flux' | 'cluster';
    version?: number;
  }

  export type Evidence = defs.EvidenceRef[];

  export type RedactionLevel = 'none' | 'partial' | 'full';

  /** What was masked before the write, by rule, and how much is left out when the record leaves its tenant. */
  export interface Redaction {
    level: defs.RedactionLevel;
    rules?: string[];
    applied_at?: defs.Timestamp;
  }

  export type Sensitivity = 'normal' | 'sensitive' | 'restricted';

  /** Kinds of later versions are to be shown generically. */
  export type EventKind = string;

  export type Capability = 'read' | 'write' | 'execute' | 'message' | 'memory_write' | 'network' | 'deploy';

  export type Capabilities = defs.Capability[];

  export type Effect = 'allow' | 'ask' | 'deny';

  /** Which of the rules of a decision applied. */
  export type DecisionReason = 'grant_deny' | 'mode_private' | 'deploy_always_asks' | 'grant_allow' | 'matrix' | 'budget_exhausted';

  export interface Decided {
    effect: defs.Effect;
    reason: defs.DecisionReason;
  }

  export type AutonomyLevel = 'safe' | 'ask_first' | 'autonomous';

  /** What a policy is for; a conversation's wins over its project's, and that over the user's. */
  export type PolicyScope = string;

  export type Choice = 'once' | 'session' | 'always' | 'deny';

  /** A tool as the gateway calls it. */
  export type ToolName = string;

  /** The arguments that the tool will run with. */
  export type ToolArgs = Record<string, unknown>;

  /** What the call is aimed at: a host, a path or a recipient. */
  export type ToolTarget = string;

  /** Which calls a grant is for: those with just these arguments, or those of the tool with one target. */
  export interface GrantMatch {
    tool: defs.ToolName;
    args_hash?: defs.Digest;
    target?: defs.ToolTarget;
  }

  /** A session of the gateway, which the router knows the conversation of. */
  export interface SessionRef {
    system: 'hermes_session' | 'webui' | 'telegram';
    id: defs.ForeignId;
  }

  /** How long to wait for a decision; 280 s unless it is said. */
  export type ApprovalExpiresInMs = number;

  export type ReceiptOutcome = 'stopped' | 'completed_before_stop' | 'partially_stopped' | 'failed_to_stop' | 'unknown';

  /** Something that the run had done by the time it ended. */
  export interface SideEffect {
    evidence_ref: defs.EvidenceRef;
    kind: 'file' | 'process' | 'network' | 'message' | 'memory' | 'artifact' | 'deploy' | 'other';
    summary: defs.Summary;
    reversible: boolean;
    reverted: boolean;
    revert_evidence?: defs.EvidenceRef;
  }

  export type SideEffects = defs.SideEffect[];

  export type Mode = 'fast' | 'thoughtful' | 'research' | 'create' | 'private';

  /** What an entry of memory is about. The first four are never written. */
  export type Topic = 'credentials' | 'minors' | 'location' | 'biometric' | 'health' | 'finance' | 'legal' | 'religion' | 'politics' | 'sexuality' | 'ethnicity' | 'identity' | 'preferences' | 'people' | 'work' | 'schedule' | 'interests' | 'tools' | 'other';

  /** One fact in plain text. */
  export type MemoryContent = string;

  export type MemoryTopics = defs.Topic[];

  /** Where an entry may be read: in one conversation, in those of one project or in all of the person's, on these surfaces alone. */
  export interface MemoryScope {
    level: 'conversation' | 'project' | 'user';
    conversation_id?: defs.ConversationId;
    project_id?: defs.ProjectId;
    surfaces: defs.Surface[];
  }

  /** ask: a person approves it before it counts. */
  export type MemoryApproval = 'auto' | 'ask';

  /** How long an entry lasts: until it is forgotten, until a date, or 4.32 half-lives after it was made, when its score has sunk to 0.05. */
  export interface MemoryRetention {
    kind: 'none' | 'expire' | 'decay';
    expires_at?: defs.Timestamp;
    half_life_days?: number;
  }

  /** Where an entry comes from. Only a correction may come from memory: it names the entry that it corrects. */
  export interface MemorySource {
    kind: 'user_statement' | 'inferred' | 'web' | 'document' | 'tool' | 'import' | 'correction';
    evidence: defs.Evidence;
  }

  /** Plain text of several lines. */
  export type Description = string;

  /** project_only: its conversations read no memory but its own. */
  export type ProjectMemory = 'shared' | 'project_only';

  export type ArtifactType = 'document' | 'code' | 'data' | 'image' | 'audio' | 'transcript';

  /** Which versions of other artifacts it was made from. Never leads back to itself. */
  export type ArtifactLineage = {
    relation: 'variant_of' | 'transcript_of' | 'derived_from' | 'restore_of';
    artifact_id: defs.ArtifactId;
    version: defs.ArtifactN;
  }[];

  /** The number of an artifact's version. */
  export type ArtifactN = number;

  /** The version that a new one was made from; 0 for the first. */
  export type ArtifactBase = number;

  /** For whom a version is promoted: the project's readers, or an export. */
  export type ArtifactTarget = 'project' | 'export';

  /** UTF-8, at most 1 MiB. */
  export type ArtifactText = string;

  /** What differs between two texts, in order. A text is split at its line feeds: one that ends in a line feed has an empty last line, and the empty text has no line. Lines count from 1; a side without lines names the line before, as in a unified diff. */
  export type ArtifactHunks = {
    from_start: defs.Count;
    from_lines: defs.Count;
    to_start: defs.Count;
    to_lines: defs.Count;
    /** Each begins with what became of it: + added, - removed, a space for kept. */
    lines: string[];
  }[];

  /** Bytes that were uploaded before. To know a digest gives no access. */
  export interface BlobRef {
    digest: defs.Digest;
    size: number;
  }

  /** A type and subtype without parameters (RFC 6838); text is UTF-8. */
  export type MediaType = string;

  /** How much of the record is left out when it leaves its tenant. */
  export interface RedactionRequest {
    level: defs.RedactionLevel;
  }

  export type EventStatus = 'started' | 'progress' | 'completed' | 'failed' | 'cancelled' | null;

  /** One line for a person: no content, no secrets. */
  export type Summary = string;

  /** Small typed facts of the kind, at most 8 KiB as JSON. */
  export type Data = Record<string, unknown>;

  /** The seqs of earlier events that led to this one. */
  export type Causes = defs.Seq[];

  /** The data of a stream's first frame, hux.hello. */
  export interface StreamHello {
    /** The run of the numbers; another one means that they start over. */
    epoch: string;
    /** The number before that of the first record to come. */
    replay_after: defs.Count;
    /** The number of the last record there is. */
    head_seq: defs.Count;
  }

  /** The data of the frame hux.reset: why all comes again. */
  export interface StreamReset {
    reason: 'cursor_ahead' | 'epoch_changed';
  }

  /** The data of the frame hux.closing: why the stream ends. */
  export interface StreamClosing {
    reason: 'token_expired' | 'flag_off' | 'slow_consumer' | 'shutdown';
  }

  /** Part of a text, in characters (code points): from start on, up to but without end. */
  export interface Span {
    start: defs.Count;
    end: defs.Seq;
  }

  /** Where a source is: the URL of a page, without credentials, or the id of a file, an artifact or a message. */
  export type Locator = string;

  /** A version of an artifact, as evidence. */
  export type ArtifactVersionRef = defs.EvidenceRef;

  /** Where a passage is in its source: its words, and what narrows down which of several places is meant. */
  export interface Selector {
    quote: {
      /** The words. Empty once the passage is redacted. */
      exact: string;
      /** What stands right before. */
      prefix?: string;
      /** What stands right behind. */
      suffix?: string;
    };
    position?: defs.Span;
    page?: number;
    /** In a recording. */
    time?: {
      start_ms: defs.Count;
      end_ms: defs.Count;
    };
  }

  /** Follows the source: valid while it says this, source_changed once it was read again with another content, source_gone, or redacted where the words were taken out. */
  export type PassageState = 'valid' | 'source_changed' | 'source_gone' | 'redacted';

  /** What a passage does to the claim that it is cited for. */
  export type Stance = 'supports' | 'contradicts' | 'mentions';

  /** Which mark of the message it is, from 1. */
  export type Ordinal = number;

  export type SourceIds = defs.SourceId[];

  export type PassageIds = defs.PassageId[];

  export type ResearchQuestion = string;

  export type ResearchNotes = {
    /** Unique in the notebook, and its writer's to choose. */
    id: string;
    text: string;
    citation_ids: defs.CitationId[];
  }[];

  export type Seq = number;

  export type Count = number;
}

/** hux.capabilities.v1. What this router can do, for the one who asks. */
export interface Capabilities {
  schema: 'hux.capabilities.v1';
  contract_version: string;
  flags: Record<string, {
    enabled: boolean;
    listed: boolean;
    depends_on: string[];
    blocked_by: string[];
  }>;
  surfaces: string[];
  modes: string[];
  event_kinds: defs.EventKind[];
  actor: defs.Actor;
  limits: Record<string, defs.Count>;
  features: Record<string, boolean>;
  build: defs.Build;
}

/** hux.conversation.create.v1. With an external_ref the conversation that it belongs to is given back, if there is one. */
export interface ConversationCreate {
  title?: defs.Name;
  project_id?: defs.ProjectId | null;
  tags?: defs.Tags;
  pinned?: boolean;
  external_ref?: {
    system: 'hermes_session' | 'webui' | 'telegram';
    id: defs.ForeignId;
  };
}

/** hux.conversation.patch.v1. A merge patch (RFC 7396) over what a person may change. */
export interface ConversationPatch {
  title?: defs.Name;
  project_id?: defs.ProjectId | null;
  tags?: defs.Tags;
  pinned?: boolean;
  state?: 'active' | 'archived';
}

/** hux.conversation.v1. A conversation, as far as HUX knows of it. */
export interface Conversation {
  schema: 'hux.conversation.v1';
  id: defs.ConversationId;
  owner: defs.UserId;
  revision: number;
  /** Empty once the conversation is forgotten. */
  title: string;
  project_id: defs.ProjectId | null;
  tags: defs.Tags;
  pinned: boolean;
  state: 'active' | 'archived' | 'forgotten';
  branch: {
    root_id: defs.ConversationId;
    parent_id: defs.ConversationId | null;
    fork_seq: defs.Seq | null;
    depth: number;
  };
  mode: {
    mode: 'fast' | 'thoughtful' | 'research' | 'create' | 'private';
    route: defs.RequestedRoute | null;
    since_seq: defs.Count;
  };
  /** Whether it was ever private. */
  private: boolean;
  /** Whether it is private now. */
  ephemeral: boolean;
  expires_at: defs.Timestamp | null;
  memory: {
    read: boolean;
    write: boolean;
  };
  head_seq: defs.Count;
  last_activity_at: defs.Timestamp | null;
  external_refs: {
    system: 'hermes_session' | 'webui' | 'telegram';
    /** A keyed hash; the id itself is not kept. */
    id_hash: string;
  }[];
  created_at: defs.Timestamp;
  updated_at: defs.Timestamp;
  provenance: defs.Provenance;
}

/** hux.error.v1. A problem document (RFC 9457). Some codes carry members of their own besides. */
export interface Problem {
  schema: 'hux.error.v1';
  type: string;
  title: string;
  status: number;
  code: string;
  detail?: string;
  instance?: string;
  request_id: string;
  retryable: boolean;
  retry_after_ms?: defs.Count;
  errors?: {
    /** RFC 6901: where in the request body. */
    pointer: string;
    /** The keyword of JSON Schema that the value breaks, or an error code. */
    code: string;
    message: string;
  }[];
  current_revision?: defs.Count;
  allowed?: string[];
}

/** hux.event.create.v1. What an agent, or the page of a person, says has happened. Every other kind of event is the router's own. */
export interface EventCreate {
  kind: 'run.started' | 'run.finished' | 'message.committed' | 'message.corrected' | 'tool.started' | 'tool.finished' | 'attachment.added';
  status?: defs.EventStatus;
  summary: defs.Summary;
  evidence?: defs.Evidence;
  data?: defs.Data;
  run_id?: defs.ForeignId | null;
  causes?: defs.Causes;
  sensitivity?: defs.Sensitivity;
  redaction?: {
    level: defs.RedactionLevel;
  };
  provenance?: {
    route?: defs.Route | null;
  };
}

/** hux.event.v1. One entry of a conversation's log. Contiguous by seq, never changed but for its tombstone. */
export interface Event {
  schema: 'hux.event.v1';
  id: defs.EventId;
  conversation_id: defs.ConversationId;
  seq: defs.Seq;
  kind: defs.EventKind;
  status: defs.EventStatus;
  summary: defs.Summary;
  evidence: defs.Evidence;
  data?: defs.Data;
  run_id?: defs.ForeignId | null;
  causes?: defs.Causes;
  /** page: what the page of a person has seen, never evidence. */
  reported_by?: 'page';
  sensitivity: defs.Sensitivity;
  redaction: defs.Redaction;
  tombstone: {
    at: defs.Timestamp;
    reason: string;
  } | null;
  created_at: defs.Timestamp;
  updated_at?: defs.Timestamp;
  provenance: defs.Provenance;
}

/** hux.manifest.v1. What the contract consists of, so that a consumer can tell whether its copy is the same. */
export interface Manifest {
  schema: 'hux.manifest.v1';
  contract_version: string;
  records: {
    schema: string;
    json_schema_sha256: defs.Sha256;
    mutable: boolean;
  }[];
  routes: {
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
    path: string;
    flag: string;
    record: string | null;
  }[];
  /** The hash of the test vectors of what a schema can't say: that of the lines of sha256sum for their files. */
  rules: {
    vectors_sha256: defs.Sha256;
  };
  modes_catalog: {
    mode: string;
    default_route: defs.RequestedRoute;
    in_switchyard: boolean;
  }[];
  generated_at: defs.Timestamp;
}
