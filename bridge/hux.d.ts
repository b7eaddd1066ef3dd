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

  /** An id of the gateway: a message, run, session or tool call. Never parsed. Dots alone are none, since no path can name them. */
  export type ForeignId = string;

  /** 1 of a record that is new, and one more with each change. */
  export type Revision = number;

  /** RFC 3339 in UTC with milliseconds, without leap seconds. Never used for ordering. */
  export type Timestamp = string;

  export type Digest = string;

  export type Commit = string;

  export type Sha256 = string;

  /** 1 to 200 characters. The format hux-name: no control characters, line separators and bidirectional overrides, and no more than 200 after NFC either. */
  export type Name = string;

  export type Tags = defs.Name[];

  export type Surface = 'chat' | 'worker' | 'telegram' | 'voice';

  /** Who does something. Comes from the credential, never from a body. */
  export interface Actor {
    kind: 'human' | 'agent' | 'worker' | 'system';
    /** As the router calls the actor. */
    id: defs.ForeignId;
  }

  /** Which build did it; null where it is not known. */
  export interface Build {
    commit: defs.Commit | null;
    image_digest: defs.Digest | null;
  }

  /** A friendly mode or a pinned route. The format hux-route: no vendor's or model's name is in it. */
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
    kind: 'tool_call' | 'message' | 'event' | 'memory' | 'artifact_version' | 'source' | 'passage' | 'approval' | 'receipt' | 'ci_build' | 'commit' | 'image_digest' | 'registry_manifest' | 'flux_revision' | 'pod' | 'probe' | 'attestation' | 'attachment' | 'conversation' | 'project' | 'grant' | 'policy' | 'release';
    /** One token: an id, a digest, or a URL without a name or password. */
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

  /** What is counted; seconds are of the time that tools run. */
  export type BudgetKind = 'tool_calls' | 'network_calls' | 'seconds';

  export type BudgetWindow = 'run' | 'day';

  export type Choice = 'once' | 'session' | 'always' | 'deny';

  /** A tool as the gateway calls it. */
  export type ToolName = defs.ForeignId;

  /** The arguments that the tool will run with. */
  export type ToolArgs = Record<string, unknown>;

  /** What the call is aimed at: a host, a path or a recipient. */
  export type ToolTarget = defs.Name;

  /** Which calls of a tool a grant is for. One that allows names either args_hash or target: the calls with just these arguments, or those with this target. One that denies may name neither, and is for all of them then. */
  export interface GrantMatch {
    tool: defs.ToolName;
    args_hash?: defs.Digest;
    target?: defs.ToolTarget;
  }

  export type GrantEffect = 'allow' | 'deny';

  export type GrantDuration = 'once' | 'session' | 'always';

  /** Where a grant holds; everywhere where this names nothing. */
  export interface GrantScope {
    conversation_id?: defs.ConversationId;
    session_id?: defs.ForeignId;
  }

  /** A system outside of hux that runs or shows conversations. */
  export type SystemName = string;

  /** A session of the gateway, which the router knows the conversation of. */
  export interface SessionRef {
    system: defs.SystemName;
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

  /** What an entry of memory is about. The first four are never written; with one of the next seven an entry is sensitive. */
  export type Topic = 'credentials' | 'minors' | 'location' | 'biometric' | 'health' | 'finance' | 'legal' | 'religion' | 'politics' | 'sexuality' | 'ethnicity' | 'identity' | 'preferences' | 'people' | 'work' | 'schedule' | 'interests' | 'tools' | 'other';

  /** One fact in plain text. What states a password, a place by its coordinates, or the number of a card, an account or a person is refused, whatever its topics say. */
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

  /** A conversation among those that it comes from or that come from it. fork_seq is the last of its parent's events that it shares. */
  export interface LineageNode {
    id: defs.ConversationId;
    parent_id: defs.ConversationId | null;
    fork_seq: defs.Seq | null;
    depth: number;
    /** Empty once the conversation is forgotten. */
    title: string;
    state: 'active' | 'archived' | 'forgotten';
  }

  export type SearchField = 'project.title' | 'project.description' | 'conversation.title' | 'artifact.title' | 'artifact.text' | 'tags' | 'message.text';

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

  /** Who or what made a version. */
  export type ArtifactOrigin = 'human' | 'agent' | 'automatic' | 'restore';

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

  /** What a person has agreed to be done with it, and where that may run. */
  export interface Consent {
    /** What for, such as transcribe. */
    use: string;
    locality: 'local' | 'hosted';
    at: defs.Timestamp;
    actor: defs.Actor;
  }

  /** What a person decided about an approval. */
  export interface ApprovalDecision {
    choice: defs.Choice;
    reason?: string;
    actor: defs.Actor;
    at: defs.Timestamp;
    surface: defs.Surface;
    grant_id: defs.GrantId | null;
  }

  /** What is wrong, and where. No value is in it. */
  export interface Fault {
    /** RFC 6901: where in the request body. */
    pointer: string;
    /** The keyword of JSON Schema that the value breaks, or a rule's name or error code. */
    code: string;
    message: string;
  }

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
    reason: 'token_expired' | 'flag_off' | 'store_corrupt' | 'shutdown';
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

  export type SourceKind = 'web' | 'file' | 'artifact' | 'message';

  export type SourceIds = defs.SourceId[];

  export type PassageIds = defs.PassageId[];

  export type ResearchQuestion = string;

  export type ResearchNotes = {
    /** Unique in the notebook, and its writer's to choose. */
    id: string;
    text: string;
    citation_ids: defs.CitationId[];
  }[];

  export type FlagName = string;

  /** What a person can do about a notice. switch_to_private is for what follows: what was answered before stays unless it is forgotten. */
  export type PrivacyControl = 'forget_this_conversation' | 'switch_to_private' | 'disable_memory_here' | 'dismiss';

  export type PrivacyControls = defs.PrivacyControl[];

  /** Names the words of a notice in the policy. */
  export type NoticeTextId = string;

  /** What a tenant's records are kept in, as forgetting and the audit count them. */
  export type StoreName = 'events' | 'messages' | 'runs' | 'policies' | 'memory' | 'artifacts' | 'versions' | 'blobs' | 'approvals' | 'grants' | 'receipts' | 'sources' | 'passages' | 'citations' | 'notebooks' | 'notices' | 'attachments' | 'search_entries' | 'idempotency_rows';

  /** A rule of retention, such as sensitive_topics. */
  export type RetentionRule = string;

  export type ServiceName = string;

  /** The review as its forge calls it, such as hux!412. No URL. */
  export type ReviewRef = string;

  export type ReleaseState = 'reviewed' | 'merged' | 'built' | 'verified' | 'deployed' | 'converged' | 'live_verified' | 'rolled_back';

  export interface ReleaseImage {
    repository: string;
    index_digest: defs.Digest;
    platform_digests: defs.Digest[];
  }

  export type FluxRevision = string;

  /** What a kustomization says of itself. */
  export interface ReleaseFlux {
    kustomization: string;
    last_applied_revision: defs.FluxRevision;
    /** Of another than this one nothing is said yet. */
    last_attempted_revision?: defs.FluxRevision;
    ready: boolean;
    observed_at: defs.Timestamp;
  }

  /** What the service's container runs in each pod. */
  export type ReleasePods = {
    name: string;
    container: string;
    /** null while it is not known. */
    image_digest: defs.Digest | null;
    ready: boolean;
    observed_at: defs.Timestamp;
  }[];

  export type CheckKind = 'probe' | 'attestation' | 'soak';

  export type CheckResult = 'passed' | 'failed' | 'error' | 'inconclusive' | 'aborted';

  export type RollbackReason = string;

  /** A moment that a surface reports, such as run_started. */
  export type SuggestionContext = string;

  export type Seq = number;

  export type Count = number;
}

/** hux.approval.create.v1. An agent asks a person about a tool call. What is shown and offered, the router makes of the arguments. Names the conversation and run, or the gateway's session and turn. */
export interface ApprovalCreate {
  conversation_id?: defs.ConversationId;
  run_id?: defs.ForeignId;
  session?: defs.SessionRef;
  turn_id?: defs.ForeignId;
  surface_hint?: defs.Surface | null;
  expires_in_ms?: defs.ApprovalExpiresInMs;
  request: {
    tool: defs.ToolName;
    args: defs.ToolArgs;
    target?: defs.ToolTarget | null;
    summary?: defs.Summary;
    evidence: {
      kind: 'tool_call';
      id: defs.ForeignId;
      /** SHA-256 of the canonical JSON (RFC 8785) of {tool, args, target}. */
      hash: defs.Digest;
      owner?: 'gateway';
    }[];
  };
}

/** hux.approval.decide.v1. What a person chose, and for which request: the hash is that of the evidence they saw. */
export interface ApprovalDecide {
  choice: defs.Choice;
  reason?: string;
  evidence_hash: defs.Digest;
}

/** hux.approval.v1. A tool call that waits for a person, and what the person decided. It is decided once. */
export interface Approval {
  schema: 'hux.approval.v1';
  id: defs.ApprovalId;
  owner: defs.UserId;
  revision: defs.Revision;
  conversation_id: defs.ConversationId;
  run_id: defs.ForeignId;
  surface_hint: defs.Surface | null;
  /** Exactly what a person sees and decides about. */
  request: {
    capability: defs.Capability;
    /** All that the call needs, capability among them; that alone where this is absent. */
    capabilities?: defs.Capabilities;
    tool: defs.ToolName;
    target?: defs.ToolTarget | null;
    summary: defs.Summary;
    /** The arguments with the secrets in them masked. */
    args_redacted: defs.ToolArgs;
    evidence: {
      kind: 'tool_call';
      id: defs.ForeignId;
      /** SHA-256 of the canonical JSON (RFC 8785) of {tool, args, target}. */
      hash: defs.Digest;
      owner: 'gateway';
    }[];
    choices: defs.Choice[];
    /** What session and always would grant. */
    grant_match: defs.GrantMatch;
  };
  expires_at: defs.Timestamp;
  status: 'pending' | 'approved' | 'denied' | 'expired' | 'cancelled';
  decision: defs.ApprovalDecision | null;
  created_at: defs.Timestamp;
  updated_at: defs.Timestamp;
  provenance: defs.Provenance;
}

/** hux.artifact.create.v1. It begins without a version; the first is posted with base_version 0. */
export interface ArtifactCreate {
  title: defs.Name;
  type: defs.ArtifactType;
  project_id?: defs.ProjectId | null;
  conversation_id?: defs.ConversationId | null;
  lineage?: defs.ArtifactLineage;
  sensitivity?: defs.Sensitivity;
  redaction?: defs.RedactionRequest;
}

/** hux.artifact.patch.v1. A merge patch (RFC 7396). Type, lineage and versions stay as they are. */
export interface ArtifactPatch {
  title?: defs.Name;
  project_id?: defs.ProjectId | null;
  state?: 'active' | 'archived';
  sensitivity?: defs.Sensitivity;
  redaction?: defs.RedactionRequest;
}

/** hux.artifact.promote.v1. Shows one version to the readers of a target, who see no later one before it is promoted too. */
export interface ArtifactPromote {
  target: defs.ArtifactTarget;
  version: defs.ArtifactN;
}

/** hux.artifact.transcribe.v1. Makes a transcript of a version of a recording, as an artifact of its own. Whoever asks agrees to where it runs, and the version keeps that among its consents. */
export interface ArtifactTranscribe {
  version: defs.ArtifactN;
  /** Where it may run. */
  locality: 'local' | 'hosted';
}

/** hux.artifact.v1. Something that was made. Its content is in its versions, which are numbered from 1 without a gap and never change. In a project it is the tenant's, else its owner's. */
export interface Artifact {
  schema: 'hux.artifact.v1';
  id: defs.ArtifactId;
  owner?: defs.UserId;
  revision: defs.Revision;
  /** Empty once the artifact is forgotten. */
  title: string;
  type: defs.ArtifactType;
  project_id?: defs.ProjectId | null;
  /** Where it was made. */
  conversation_id?: defs.ConversationId | null;
  /** The number of the last version; 0 before the first. */
  head_version: number;
  version_count: number;
  lineage: defs.ArtifactLineage;
  /** Which versions were shown to whom, oldest first. The last of a target is what its readers see, until another is promoted. */
  promoted: {
    target: defs.ArtifactTarget;
    version: defs.ArtifactN;
    at: defs.Timestamp;
    actor: defs.Actor;
  }[];
  state: 'active' | 'archived' | 'forgotten';
  sensitivity: defs.Sensitivity;
  redaction: defs.Redaction;
  created_at: defs.Timestamp;
  updated_at: defs.Timestamp;
  provenance: defs.Provenance;
}

/** hux.artifact_diff.v1. Line by line; coarse where that would take too long, with all from the first difference to the last in one hunk; binary, without hunks, of bytes. */
export interface ArtifactDiff {
  schema: 'hux.artifact_diff.v1';
  artifact_id: defs.ArtifactId;
  /** A version, or 0 for the empty one. */
  from: number;
  to: defs.ArtifactN;
  mode: 'lines' | 'coarse' | 'binary';
  equal: boolean;
  /** There are more hunks than these; stats counts all. */
  truncated: boolean;
  stats: {
    added: defs.Count;
    removed: defs.Count;
  };
  hunks: defs.ArtifactHunks;
  provenance: defs.Provenance;
}

/** hux.artifact_version.create.v1. One of the three: its content as text, the bytes of a blob, or a patch of the base's text. Where base_version is not the head, another version came between. */
export interface ArtifactVersionCreate {
  base_version: defs.ArtifactBase;
  media_type: defs.MediaType;
  content?: defs.ArtifactText;
  blob?: defs.BlobRef;
  patch?: defs.ArtifactHunks;
  /** Follows from who posts it, unless the version is made by a machine's rule or taken from an earlier one. */
  origin?: defs.ArtifactOrigin;
  change_summary?: defs.Summary;
}

/** hux.artifact_version.v1. What an artifact was at a time: text or bytes. It never changes, and has no id but its artifact's and its number. */
export interface ArtifactVersion {
  schema: 'hux.artifact_version.v1';
  artifact_id: defs.ArtifactId;
  n: defs.ArtifactN;
  media_type: defs.MediaType;
  content?: defs.ArtifactText;
  blob?: defs.BlobRef;
  /** SHA-256 of the text in UTF-8, or of the bytes. */
  content_hash: defs.Digest;
  base_version: defs.ArtifactBase;
  origin: defs.ArtifactOrigin;
  change_summary?: defs.Summary;
  consents?: defs.Consent[];
  /** What was masked in the summary. */
  redaction?: defs.Redaction;
  created_at: defs.Timestamp;
  provenance: defs.Provenance;
}

/** hux.blob.v1. Bytes as they were stored, which may be fewer than were sent: no place or person is kept in a picture's or a recording's data. */
export interface Blob {
  schema: 'hux.blob.v1';
  digest: defs.Digest;
  size: number;
  media_type: defs.MediaType;
  provenance: defs.Provenance;
}

/** hux.cancel.v1. How far the stop of a run is: stopping until there is a receipt, then the receipt's outcome. */
export interface Cancel {
  schema: 'hux.cancel.v1';
  state: 'stopping' | 'stopped' | 'completed_before_stop' | 'partially_stopped' | 'failed_to_stop' | 'unknown';
  receipt_id: defs.ReceiptId | null;
  /** When the receipt is written at the latest. */
  deadline_at: defs.Timestamp;
  provenance: defs.Provenance;
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
  provenance: defs.Provenance;
}

/** hux.citation.create.v1. All in one commit. Later ones go on with the next ordinal and replace nothing. */
export interface CitationCreate {
  citations: {
    ordinal: defs.Ordinal;
    passage_id: defs.PassageId;
    claim_span?: defs.Span;
    stance?: defs.Stance;
  }[];
}

/** hux.citation.v1. One mark of a message, and the passage that it stands for. */
export interface Citation {
  schema: 'hux.citation.v1';
  id: defs.CitationId;
  owner: defs.UserId;
  revision: defs.Revision;
  conversation_id: defs.ConversationId;
  message_id: defs.ForeignId;
  ordinal: defs.Ordinal;
  passage_id: defs.PassageId;
  /** The number of the source in the message, by first appearance: one source has one number. */
  source_number: defs.Ordinal;
  /** The part of the message that the mark is for. */
  claim_span?: defs.Span;
  stance?: defs.Stance;
  /** That of the passage. */
  state: defs.PassageState;
  created_at: defs.Timestamp;
  updated_at: defs.Timestamp;
  provenance: defs.Provenance;
}

/** hux.conversation.branch.v1. fork_seq or message_id, one of the two, names the last event that the child shares. Without a title it has its parent's. */
export interface ConversationBranch {
  fork_seq?: defs.Seq;
  message_id?: defs.ForeignId;
  title?: defs.Name;
}

/** hux.conversation.create.v1. With an external_ref the conversation that it belongs to is given back, if there is one. */
export interface ConversationCreate {
  title?: defs.Name;
  project_id?: defs.ProjectId | null;
  tags?: defs.Tags;
  pinned?: boolean;
  external_ref?: {
    system: defs.SystemName;
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
  revision: defs.Revision;
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
    system: defs.SystemName;
    /** A keyed hash; the id itself is not kept. */
    id_hash: string;
  }[];
  created_at: defs.Timestamp;
  updated_at: defs.Timestamp;
  provenance: defs.Provenance;
}

/** hux.decision.create.v1. An agent's hook asks what applies to a tool call, before it runs. Names the conversation and run, or the gateway's session and turn. */
export interface DecisionCreate {
  conversation_id?: defs.ConversationId;
  run_id?: defs.ForeignId;
  session?: defs.SessionRef;
  turn_id?: defs.ForeignId;
  tool: defs.ToolName;
  args: defs.ToolArgs;
  target?: defs.ToolTarget | null;
  tool_call_id: defs.ForeignId;
  summary?: defs.Summary;
  surface_hint?: defs.Surface | null;
  /** How long the hook can wait if it has to ask. */
  expires_in_ms?: defs.ApprovalExpiresInMs;
}

/** hux.decision.v1. What applies to a tool call: it may run, may not, or waits for an approval. */
export interface Decision {
  schema: 'hux.decision.v1';
  effect: defs.Effect;
  reason: defs.DecisionReason;
  /** What the call needs, and what applies to each; the strictest applies to the call. */
  capabilities: {
    capability: defs.Capability;
    effect: defs.Effect;
    reason: defs.DecisionReason;
  }[];
  evidence_hash: defs.Digest;
  /** The grant that it rests on. */
  grant_id: defs.GrantId | null;
  /** The approval to wait on, if effect is ask. */
  approval_id: defs.ApprovalId | null;
  provenance: defs.Provenance;
}

/** hux.error.v1. A problem document (RFC 9457). Some codes carry members of their own besides. It is no record and has no provenance: it may be about a request of nobody. */
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
  errors?: defs.Fault[];
  /** Of precondition_failed: the revision that the record has. */
  current_revision?: defs.Count;
  /** Of invalid_transition: the state that the record is in. */
  from?: string;
  /** Of invalid_transition: the state that it can't go to. */
  to?: string;
  /** Of invalid_transition: the states that it can go to. */
  allowed?: string[];
  /** Of approval_already_decided: what was decided. */
  decision?: defs.ApprovalDecision;
  /** Of version_conflict: the artifact's last version. */
  head?: number;
  /** Of release_problems. */
  problems?: defs.Fault[];
  /** Of no_slot: the id that the operator needs. */
  user?: defs.UserId;
  /** The same as detail, where the answer stands in for one of the WebUI. */
  error?: string;
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

/** hux.forget.v1. What was removed, what was kept and why, and what could not be reached. Counts and ids only. */
export interface Forget {
  schema: 'hux.forget.v1';
  conversation_id: defs.ConversationId;
  owner: defs.UserId;
  state: 'forgetting' | 'forgotten';
  /** How many were removed of each. */
  counts: {
    events: defs.Count;
    messages: defs.Count;
    runs: defs.Count;
    policies: defs.Count;
    memory: defs.Count;
    artifacts: defs.Count;
    versions: defs.Count;
    blobs: defs.Count;
    approvals: defs.Count;
    grants: defs.Count;
    receipts: defs.Count;
    sources: defs.Count;
    passages: defs.Count;
    citations: defs.Count;
    notebooks: defs.Count;
    notices: defs.Count;
    attachments: defs.Count;
    search_entries: defs.Count;
    idempotency_rows: defs.Count;
  };
  kept: {
    ref: defs.Id;
    reason: 'shared_artifact' | 'shared_source' | 'shared_notebook' | 'promoted' | 'audit';
  }[];
  /** Conversations that began as this one, and have lost what they had from it. */
  branches: {
    id: defs.ConversationId;
    effect: 'prefix_forgotten';
  }[];
  /** What systems outside of hux say of their copies. */
  external: {
    system: defs.SystemName;
    status: 'confirmed' | 'pending' | 'unsupported';
  }[];
  completed_at: defs.Timestamp | null;
  created_at: defs.Timestamp;
  provenance: defs.Provenance;
}

/** hux.grant.create.v1. A grant that no approval asked for. */
export interface GrantCreate {
  capability: defs.Capability;
  /** All that it covers, capability among them; that alone where this is absent. */
  capabilities?: defs.Capabilities;
  effect: defs.GrantEffect;
  duration: defs.GrantDuration;
  match: defs.GrantMatch;
  scope?: defs.GrantScope;
  /** At most 365 days with always, 12 hours otherwise; 30 days and 12 hours unless it is said. */
  expires_in_ms?: number;
}

/** hux.grant.v1. Lets an agent do, or keeps it from doing, just what a person saw. */
export interface Grant {
  schema: 'hux.grant.v1';
  id: defs.GrantId;
  owner: defs.UserId;
  revision: defs.Revision;
  capability: defs.Capability;
  /** All that it covers, capability among them; that alone where this is absent. */
  capabilities?: defs.Capabilities;
  effect: defs.GrantEffect;
  duration: defs.GrantDuration;
  match: defs.GrantMatch;
  scope: defs.GrantScope;
  /** The approval that it was given in, or manual. */
  origin: {
    approval_id?: defs.ApprovalId;
    manual?: boolean;
  };
  expires_at: defs.Timestamp;
  uses: {
    count: defs.Count;
    /** Null for any number. */
    max: number | null;
  };
  state: 'active' | 'expired' | 'revoked' | 'spent';
  created_at: defs.Timestamp;
  updated_at: defs.Timestamp;
  provenance: defs.Provenance;
}

/** hux.ingest.hermes.v1. What a Hermes gateway tells by an outbound webhook. It is signed, may be lost or come twice, and decides nothing. */
export interface IngestHermes {
  hook_event_name: string;
  /** The same when it is sent again. */
  delivery_id: defs.ForeignId;
  /** When it was sent; one of more than five minutes ago is refused. */
  timestamp: string;
  /** One that is not of the form of a foreign id is known by its SHA-256. */
  session_id?: string | null;
  /** As session_id. */
  tool_name?: string | null;
  tool_input?: Record<string, unknown> | null;
  cwd?: string | null;
  profile?: string | null;
  /** Facts of the event, such as tool_call_id, turn_id, status and duration_ms. */
  extra?: Record<string, unknown> | null;
}

/** hux.lineage.v1. Where a conversation comes from and what comes from it: its ancestors from the root to the parent, itself, and its branches. */
export interface Lineage {
  schema: 'hux.lineage.v1';
  root: defs.LineageNode;
  ancestors: defs.LineageNode[];
  self: defs.LineageNode;
  children: defs.LineageNode[];
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
  provenance: defs.Provenance;
}

/** hux.memory.create.v1. An agent's proposal waits for a person wherever approval_mode must be ask, whatever it says. corrects names the entry that a correction is to replace. */
export interface MemoryCreate {
  content: defs.MemoryContent;
  topics: defs.MemoryTopics;
  scope: defs.MemoryScope;
  approval_mode?: defs.MemoryApproval;
  sensitivity: defs.Sensitivity;
  redaction?: defs.RedactionRequest;
  retention: defs.MemoryRetention;
  source: defs.MemorySource;
  corrects?: defs.MemoryId;
}

/** hux.memory.edit.v1. A person's correction, which takes the entry's place at once. What it leaves out is as in the entry. */
export interface MemoryEdit {
  content: defs.MemoryContent;
  topics?: defs.MemoryTopics;
  scope?: defs.MemoryScope;
  sensitivity?: defs.Sensitivity;
  redaction?: defs.RedactionRequest;
  retention?: defs.MemoryRetention;
}

/** hux.memory.import.v1. Entries from another memory, all of them or none. evidence says where they come from. */
export interface MemoryImport {
  evidence: defs.Evidence;
  items: {
    content: defs.MemoryContent;
    topics: defs.MemoryTopics;
    scope: defs.MemoryScope;
    sensitivity: defs.Sensitivity;
    redaction?: defs.RedactionRequest;
    retention: defs.MemoryRetention;
  }[];
}

/** hux.memory.prompt.v1. What of the memory may stand before the assistant in a conversation. That it was asked for is told in the conversation's log, by ids alone. */
export interface MemoryPrompt {
  conversation_id: defs.ConversationId;
  run_id?: defs.ForeignId;
  /** How long the contents may be together; 4000 unless it is said. */
  max_chars?: number;
}

/** hux.memory.v1. One entry of the ledger of what the assistant remembers. What it says is never changed; a correction is another entry that takes its place. */
export interface Memory {
  schema: 'hux.memory.v1';
  id: defs.MemoryId;
  owner: defs.UserId;
  revision: defs.Revision;
  /** null once it is rejected or forgotten. */
  content: defs.MemoryContent | null;
  topics: defs.MemoryTopics;
  scope: defs.MemoryScope;
  state: 'proposed' | 'active' | 'rejected' | 'expired' | 'forgotten';
  approval_mode: defs.MemoryApproval;
  sensitivity: defs.Sensitivity;
  redaction: defs.Redaction;
  retention: defs.MemoryRetention;
  /** Whether it may be given to the assistant; only an active entry is. */
  retrieval: {
    enabled: boolean;
    changed_at: defs.Timestamp;
  };
  source: defs.MemorySource;
  /** The entry whose place it takes. */
  corrects: defs.MemoryId | null;
  /** The entry that took its place. */
  superseded_by: defs.MemoryId | null;
  /** Its moves, oldest first. They have nothing of the content, not even a hash. */
  transitions: {
    from: 'proposed' | 'active' | 'expired';
    to: 'active' | 'rejected' | 'expired' | 'forgotten';
    at: defs.Timestamp;
    actor: defs.Actor;
    reason_code: string;
  }[];
  created_at: defs.Timestamp;
  updated_at: defs.Timestamp;
  provenance: defs.Provenance;
}

/** hux.memory_export.v1. All of a person's entries, in any state and oldest first: each a hux.memory.v1, or what its redaction level leaves of one outside its tenant. */
export interface MemoryExport {
  schema: 'hux.memory_export.v1';
  exported_at: defs.Timestamp;
  items: {
    schema: 'hux.memory.v1';
    id: defs.MemoryId;
    redaction: defs.Redaction;
    created_at: defs.Timestamp;
  }[];
  provenance: defs.Provenance;
}

/** hux.mode.put.v1. Puts a conversation into a mode, with the mode's own route or a pinned one. */
export interface ModePut {
  mode: defs.Mode;
  /** An exact route of the catalogue; null for the mode's own. */
  route?: string | null;
}

/** hux.mode.v1. A way of working that a person picks; which model serves it is not theirs to know. */
export interface Mode {
  schema: 'hux.mode.v1';
  mode: defs.Mode;
  label: defs.Name;
  description: string;
  constraints: {
    locality: 'any' | 'local_only';
    memory: 'on' | 'off';
    web: 'on' | 'off';
    /** Nothing of it outlasts the session. */
    ephemeral: boolean;
    /** Whether any route may be pinned; a local one may always. */
    overridable: boolean;
  };
  default_route: defs.RequestedRoute;
  /** What a route that may be pinned looks like, as a regular expression. */
  pin_pattern: string;
  provenance: defs.Provenance;
}

/** hux.passage.create.v1. The words are looked for in the source; what is not there is refused. A position chooses the place nearest to it. */
export interface PassageCreate {
  source_id: defs.SourceId;
  /** The version that the words were read in; the last one unless it is said. */
  source_version?: defs.Seq;
  selector: defs.Selector;
}

/** hux.passage.v1. Words of a source, found there when the passage was added. */
export interface Passage {
  schema: 'hux.passage.v1';
  id: defs.PassageId;
  owner: defs.UserId;
  revision: defs.Revision;
  source_id: defs.SourceId;
  source_version: defs.Seq;
  /** Of the source's content that has the words. */
  content_hash: defs.Digest;
  selector: defs.Selector;
  /** The quote's words. Empty once they were taken out. */
  text: string;
  /** exact: letter by letter. normalized: after NFC, and with each run of white space taken for one space. */
  match: 'exact' | 'normalized';
  state: defs.PassageState;
  created_at: defs.Timestamp;
  updated_at: defs.Timestamp;
  provenance: defs.Provenance;
}

/** hux.policy.put.v1. Replaces the policy of the scope that the query names. Budgets that go on keep what is spent of them. */
export interface PolicyPut {
  level: defs.AutonomyLevel;
  /** When autonomous falls back to ask_first, by the router's clock; null for never. A time that is over is refused. */
  level_expires_at?: defs.Timestamp | null;
  /** The same as a length of time from now on, for those whose clock may be wrong; 365 days at most. One of the two alone. */
  level_expires_in_ms?: number;
  budgets?: {
    kind: defs.BudgetKind;
    limit: defs.Count;
    window: defs.BudgetWindow;
  }[];
}

/** hux.policy.v1. How much an agent may do without asking a person: anywhere, in a project or in a conversation. Each person has their own. */
export interface Policy {
  schema: 'hux.policy.v1';
  id: defs.PolicyId;
  owner: defs.UserId;
  /** 0 for the policy that applies while nobody has set one; its id is all zeros. */
  revision: number;
  scope: defs.PolicyScope;
  level: defs.AutonomyLevel;
  /** When autonomous falls back to ask_first; null for never. */
  level_expires_at: defs.Timestamp | null;
  /** Once one is spent, what would be allowed is asked; reading is not. */
  budgets: {
    kind: defs.BudgetKind;
    limit: defs.Count;
    window: defs.BudgetWindow;
    spent: defs.Count;
    /** Null for a run's budget, which ends with the run. */
    resets_at: defs.Timestamp | null;
  }[];
  /** What applies now where no grant does. */
  effective: {
    read: defs.Decided;
    write: defs.Decided;
    execute: defs.Decided;
    message: defs.Decided;
    memory_write: defs.Decided;
    network: defs.Decided;
    deploy: defs.Decided;
  };
  created_at: defs.Timestamp;
  updated_at: defs.Timestamp;
  provenance: defs.Provenance;
}

/** hux.privacy_notice.create.v1. With topic and conversation_id a notice is shown, and resolved at once if chosen is there; with notice_id the one that was shown is resolved. Only a person chooses. */
export interface PrivacyNoticeCreate {
  topic?: defs.Topic;
  conversation_id?: defs.ConversationId;
  notice_id?: defs.NoticeId;
  chosen?: defs.PrivacyControl;
}

/** hux.privacy_notice.v1. That a person was told what a topic means in a conversation, and what they chose to do about it. */
export interface PrivacyNotice {
  schema: 'hux.privacy_notice.v1';
  id: defs.NoticeId;
  owner: defs.UserId;
  revision: defs.Revision;
  topic: defs.Topic;
  conversation_id: defs.ConversationId;
  shown_at: defs.Timestamp;
  controls_offered: defs.PrivacyControls;
  chosen: defs.PrivacyControl | null;
  chosen_at: defs.Timestamp | null;
  /** What came of it: the conversation that was forgotten, that remembers nothing any more, or that was opened in Private. */
  effect_ref: defs.Id | null;
  created_at: defs.Timestamp;
  updated_at: defs.Timestamp;
  provenance: defs.Provenance;
}

/** hux.privacy_policy.v1. What is never written, what is kept short and apart, how long each store keeps what it has, and what a person can do about it. */
export interface PrivacyPolicy {
  schema: 'hux.privacy_policy.v1';
  version: defs.Seq;
  topics: {
    topic: defs.Topic;
    class: 'never_write' | 'sensitive' | 'normal';
    /** How far what is written may be read. */
    scope: 'conversation' | 'project' | 'user';
    share_across_surfaces: boolean;
    /** After which it is gone; null for until it is forgotten, 0 for what is never written. */
    max_age_days: number | null;
    /** Which of the notices is shown when it comes up. */
    notice_id: defs.NoticeTextId | null;
  }[];
  /** For each store the rules that the daily audit checks. */
  retention: {
    store: defs.StoreName;
    rule: defs.RetentionRule;
    /** null for until it is forgotten. */
    max_age_days: number | null;
  }[];
  /** All four. */
  controls: defs.PrivacyControls;
  /** The words of the notices. */
  notices: {
    id: defs.NoticeTextId;
    title: defs.Name;
    body: string;
  }[];
  provenance: defs.Provenance;
}

/** hux.project.create.v1. instructions_ref names an artifact whose promoted version says how the assistant is to work in the project. */
export interface ProjectCreate {
  title: defs.Name;
  description?: defs.Description;
  tags?: defs.Tags;
  pinned?: boolean;
  memory_scope?: defs.ProjectMemory;
  default_mode?: defs.Mode;
  instructions_ref?: defs.ArtifactId;
}

/** hux.project.patch.v1. A merge patch (RFC 7396); null takes a member away where there need be none. */
export interface ProjectPatch {
  title?: defs.Name;
  description?: defs.Description | null;
  state?: 'active' | 'archived';
  tags?: defs.Tags;
  pinned?: boolean;
  memory_scope?: defs.ProjectMemory;
  default_mode?: defs.Mode | null;
  instructions_ref?: defs.ArtifactId | null;
}

/** hux.project.v1. Conversations and artifacts that belong together. It is its tenant's, and has no owner. */
export interface Project {
  schema: 'hux.project.v1';
  id: defs.ProjectId;
  revision: defs.Revision;
  /** Empty once the project is forgotten. */
  title: string;
  description?: defs.Description;
  state: 'active' | 'archived' | 'forgotten';
  tags?: defs.Tags;
  pinned?: boolean;
  memory_scope?: defs.ProjectMemory;
  default_mode?: defs.Mode;
  instructions_ref?: defs.ArtifactId;
  created_at: defs.Timestamp;
  updated_at: defs.Timestamp;
  provenance: defs.Provenance;
}

/** hux.receipt.create.v1. An agent's hook tells how a cancelled run ended. Names the conversation and run, or the gateway's session and turn. */
export interface ReceiptCreate {
  kind: 'cancellation';
  conversation_id?: defs.ConversationId;
  run_id?: defs.ForeignId;
  session?: defs.SessionRef;
  turn_id?: defs.ForeignId;
  outcome: defs.ReceiptOutcome;
  side_effects: defs.SideEffects;
  /** partial where not all that the run did could be observed. */
  coverage: 'full' | 'partial';
}

/** hux.receipt.v1. What a cancelled run had done when it ended. A stop is done once this exists. */
export interface Receipt {
  schema: 'hux.receipt.v1';
  id: defs.ReceiptId;
  owner: defs.UserId;
  kind: 'cancellation';
  conversation_id: defs.ConversationId;
  run_id: defs.ForeignId;
  requested_at: defs.Timestamp;
  requested_by: defs.Actor;
  outcome: defs.ReceiptOutcome;
  side_effects: defs.SideEffects;
  /** partial where not all that the run did could be observed. */
  coverage: 'full' | 'partial';
  completed_at: defs.Timestamp;
  created_at: defs.Timestamp;
  provenance: defs.Provenance;
}

/** hux.release.check.v1. A probe, an attestation or the end of a soak, and how it came out. */
export interface ReleaseCheck {
  kind: defs.CheckKind;
  result: defs.CheckResult;
  /** When it was made. */
  at: defs.Timestamp;
  evidence: defs.Evidence;
}

/** hux.release.create.v1. A change that was reviewed. */
export interface ReleaseCreate {
  service: defs.ServiceName;
  change: {
    review_ref: defs.ReviewRef;
  };
  /** When the review was seen to be done. */
  observed_at: defs.Timestamp;
  evidence?: defs.Evidence;
}

/** hux.release.transition.v1. What was seen, and by what evidence. Which of it a state needs the rules of the release say. */
export interface ReleaseTransition {
  to: defs.ReleaseState;
  /** When all of it was seen. */
  observed_at: defs.Timestamp;
  evidence: defs.Evidence;
  /** For merged. */
  merge_commit?: defs.Commit;
  /** For built. */
  image?: defs.ReleaseImage;
  /** For deployed. */
  flux?: defs.ReleaseFlux;
  /** For converged and rolled_back. */
  pods?: defs.ReleasePods;
  /** For rolled_back. */
  rollback?: {
    to_digest: defs.Digest;
    reason: defs.RollbackReason;
  };
}

/** hux.release.v1. A change on its way from review to where people use it, with the evidence of each step. */
export interface Release {
  schema: 'hux.release.v1';
  id: defs.ReleaseId;
  revision: defs.Revision;
  service: defs.ServiceName;
  state: defs.ReleaseState;
  change: {
    review_ref: defs.ReviewRef;
    merge_commit: defs.Commit | null;
  };
  image: defs.ReleaseImage | null;
  /** One for each state that it has reached. */
  steps: Record<string, {
    at: defs.Timestamp;
    actor: defs.Actor;
    evidence: defs.Evidence;
    /** When the evidence was seen. */
    observed_at: defs.Timestamp;
  }>;
  flux: defs.ReleaseFlux | null;
  pods: defs.ReleasePods;
  /** The last ten. */
  checks: {
    kind: defs.CheckKind;
    result: defs.CheckResult;
    at: defs.Timestamp;
    evidence: defs.Evidence;
  }[];
  /** The result of the last check; null before the first. */
  current_check: defs.CheckResult | null;
  /** Whether anybody may say that it is deployed. */
  claim_allowed: boolean;
  rollback: {
    from_state: defs.ReleaseState;
    to_digest: defs.Digest;
    reason: defs.RollbackReason;
    at: defs.Timestamp;
  } | null;
  created_at: defs.Timestamp;
  updated_at: defs.Timestamp;
  provenance: defs.Provenance;
}

/** hux.research_notebook.create.v1. */
export interface ResearchNotebookCreate {
  title: defs.Name;
  project_id?: defs.ProjectId | null;
  question?: defs.ResearchQuestion | null;
  source_ids?: defs.SourceIds;
  passage_ids?: defs.PassageIds;
  notes?: defs.ResearchNotes;
}

/** hux.research_notebook.patch.v1. A merge patch (RFC 7396): a list takes the place of the one before. */
export interface ResearchNotebookPatch {
  title?: defs.Name;
  project_id?: defs.ProjectId | null;
  question?: defs.ResearchQuestion | null;
  source_ids?: defs.SourceIds;
  passage_ids?: defs.PassageIds;
  notes?: defs.ResearchNotes;
  state?: 'active' | 'archived';
}

/** hux.research_notebook.v1. A question, what was found on it, and what somebody makes of that. */
export interface ResearchNotebook {
  schema: 'hux.research_notebook.v1';
  id: defs.NotebookId;
  owner: defs.UserId;
  revision: defs.Revision;
  /** Empty once the notebook is forgotten. */
  title: string;
  project_id?: defs.ProjectId | null;
  question?: defs.ResearchQuestion | null;
  source_ids: defs.SourceIds;
  passage_ids: defs.PassageIds;
  notes: defs.ResearchNotes;
  state: 'active' | 'archived' | 'forgotten';
  created_at: defs.Timestamp;
  updated_at: defs.Timestamp;
  provenance: defs.Provenance;
}

/** hux.retention_audit.v1. Proof that the rules of retention were run over a period. Counts and the names of rules only, so that forgetting never breaks the chain. */
export interface RetentionAudit {
  schema: 'hux.retention_audit.v1';
  id: defs.AuditId;
  seq: defs.Seq;
  /** From the end of the audit before on. */
  period: {
    from: defs.Timestamp;
    to: defs.Timestamp;
  };
  policy_version: defs.Seq;
  rules: {
    rule: defs.RetentionRule;
    store: defs.StoreName;
    checked: defs.Count;
    overdue_found: defs.Count;
    removed: defs.Count;
    /** Overdue, and still there. */
    remaining: defs.Count;
  }[];
  /** pass: nothing overdue remains. partial: some of it does. fail: all of it does. */
  result: 'pass' | 'fail' | 'partial';
  started_at: defs.Timestamp;
  finished_at: defs.Timestamp;
  /** The hash of the audit before; null for the first. */
  prev_hash: defs.Digest | null;
  /** SHA-256 of the record in the form of RFC 8785, without this member. */
  hash: defs.Digest;
  created_at: defs.Timestamp;
  provenance: defs.Provenance;
}

/** hux.search.v1. A page of what was found, and where was looked. */
export interface Search {
  schema: 'hux.search.v1';
  items: {
    type: 'project' | 'conversation' | 'artifact' | 'message';
    /** A record's own, or a message's. */
    id: defs.ForeignId;
    title: defs.Name;
    field: defs.SearchField;
    /** Plain text around what was found. */
    snippet: string;
    project_id: defs.ProjectId | null;
  }[];
  /** Where the next page begins; null at the end. */
  next: string | null;
  indexed: defs.SearchField[];
  /** What somebody may look for here in vain. */
  not_indexed: string[];
  provenance: defs.Provenance;
}

/** hux.source.create.v1. With a snapshot, whose content is hashed and searched for passages, it is ready at once; else it is pending until it has been read. */
export interface SourceCreate {
  conversation_id?: defs.ConversationId | null;
  kind: defs.SourceKind;
  title: defs.Name;
  locator: defs.Locator;
  snapshot?: defs.ArtifactVersionRef | null;
  media_type?: defs.MediaType | null;
  published_at?: defs.Timestamp | null;
  author?: defs.Name | null;
  sensitivity?: defs.Sensitivity;
  redaction?: defs.RedactionRequest;
}

/** hux.source.snapshot.v1. What an agent has read of a pending source, kept as a version of an artifact. The source is ready then. */
export interface SourceSnapshot {
  snapshot: defs.ArtifactVersionRef;
  media_type: defs.MediaType;
  published_at?: defs.Timestamp | null;
  author?: defs.Name | null;
}

/** hux.source.v1. Something that an answer may cite, as it was when it was last read. Reading it again gives it the next version. */
export interface Source {
  schema: 'hux.source.v1';
  id: defs.SourceId;
  owner: defs.UserId;
  revision: defs.Revision;
  /** The conversation that it was found in, whose log says so; null where a person added it outside of any. */
  conversation_id: defs.ConversationId | null;
  kind: defs.SourceKind;
  title: defs.Name;
  locator: defs.Locator;
  status: 'pending' | 'ready' | 'failed' | 'gone';
  /** How many times it was read; 1 while it is pending for the first time. */
  version: defs.Seq;
  content_hash: defs.Digest | null;
  /** What was read, kept as a version of an artifact. */
  snapshot: defs.ArtifactVersionRef | null;
  retrieved_at: defs.Timestamp | null;
  media_type: defs.MediaType | null;
  published_at?: defs.Timestamp | null;
  author?: defs.Name | null;
  sensitivity: defs.Sensitivity;
  redaction: defs.Redaction;
  created_at: defs.Timestamp;
  updated_at: defs.Timestamp;
  provenance: defs.Provenance;
}

/** hux.suggestion.v1. An entry of the catalogue of hints. Its id stays, so that who has stopped one never sees it again. */
export interface Suggestion {
  schema: 'hux.suggestion.v1';
  id: defs.SuggestionId;
  title: defs.Name;
  body: string;
  /** The moments that it is for. */
  contexts: defs.SuggestionContext[];
  /** What is offered: to open one of the pages of hux, or to choose a mode. */
  action: {
    kind: 'open_page' | 'choose_mode';
    /** The page's name, or the mode. */
    target: string;
  };
  max_shows: number;
  /** How long after it was shown it is not offered again. */
  cooldown_seconds: number;
  dismissable: boolean;
  requires_flags?: defs.FlagName[];
  provenance: defs.Provenance;
}

/** hux.suggestion_state.v1. What became of a suggestion for one person, on all surfaces. Known by owner and suggestion_id. */
export interface SuggestionState {
  schema: 'hux.suggestion_state.v1';
  suggestion_id: defs.SuggestionId;
  owner: defs.UserId;
  revision: defs.Revision;
  status: 'active' | 'dismissed' | 'never_again' | 'acted' | 'exhausted';
  shows: number;
  last_shown_at: defs.Timestamp | null;
  /** When it came into this status. */
  changed_at: defs.Timestamp;
  /** Where that was. */
  surface: defs.Surface;
  created_at: defs.Timestamp;
  updated_at: defs.Timestamp;
  provenance: defs.Provenance;
}
