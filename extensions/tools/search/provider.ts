/** Where a search's results come from. */
export interface SearchProvider {
  /** In messages, and in the names of cached answers. */
  readonly name: string;
  /** True if the same query has the same results each time. */
  readonly replayable?: boolean;
  /**
   * The best results first, at most `count`.
   * @throws ToolError where no results could be had; the signal's reason when it is aborted
   */
  search(query: string, options: SearchOptions): Promise<readonly SearchResult[]>;
}

export interface SearchOptions {
  readonly count: number;
  readonly signal?: AbortSignal;
}

/** `title` and `url` are "" where the source has none. */
export interface SearchResult {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
}
