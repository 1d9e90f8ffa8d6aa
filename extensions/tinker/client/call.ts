export interface Call {
  readonly method?: "GET" | "POST" | "DELETE";
  /** Behind `/api/v1/`. */
  readonly path: string;
  /** Bytes travel as protobuf, anything else as JSON. */
  readonly body?: Uint8Array | object;
  /** Asks for a protobuf answer. */
  readonly acceptProtobuf?: boolean;
  /**
   * Whether the call may be sent again when its answer was lost. If not, a lost answer is an error at once.
   * Calls that were certainly not sent are always repeated.
   */
  readonly repeatable: boolean;
  readonly timeoutMs?: number;
  readonly patienceMs?: number;
  readonly signal?: AbortSignal;
  /** Statuses that the caller handles: they are returned, not thrown. */
  readonly expected?: readonly number[];
}

export interface Answer {
  readonly status: number;
  readonly protobuf: boolean;
  readonly bytes: Uint8Array;
  /** True if an earlier attempt of this call may have arrived. */
  readonly repeated: boolean;
}

/** An HTTP request without an answer. */
export interface Failure {
  readonly code: string;
  /** Whether the server may have received the request. */
  readonly maybeSent: boolean;
  /** Whether the same address fails always. */
  readonly permanent: boolean;
  readonly timedOut: boolean;
  readonly cause: unknown;
}

export interface CallOptions {
  /** Ends waiting. What the server has accepted it still executes. */
  readonly signal?: AbortSignal;
}
