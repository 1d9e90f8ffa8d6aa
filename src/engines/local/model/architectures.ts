/**
 * Decoders of the Llama family, by `model_type` in `config.json`: all that differs between them. One entry is what another one needs
 * (docs/models.md shows how).
 */
interface Traits {
  /** The class of `transformers` that computes the same; `architectures` in `config.json`. */
  readonly className: string;
  /** Biases on the query, key and value projections. */
  readonly attentionBias: boolean;
  /** RMS norms of queries and keys per head, before the rotation. */
  readonly qkNorm: boolean;
  /** Where `config.json` has no `head_dim`; hidden_size / num_attention_heads if left out. */
  readonly headDim?: number;
  /** Tokens of the window that some layer looks back on, as `transformers` reads the file; null for none, which alone is computed. */
  readonly slidingWindow: (file: WindowFields) => number | null;
  /** What a `config.json` has to say for it beside the sizes, since `transformers` would assume something else. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** What `config.json` says about windows. */
export interface WindowFields {
  readonly num_hidden_layers: number;
  readonly sliding_window?: number | null;
  readonly use_sliding_window: boolean;
  readonly max_window_layers?: number | null;
}

export const architectures = {
  qwen3: { className: "Qwen3ForCausalLM", attentionBias: false, qkNorm: true, headDim: 128, slidingWindow: qwenWindow },
  qwen2: { className: "Qwen2ForCausalLM", attentionBias: true, qkNorm: false, slidingWindow: qwenWindow },
  llama: { className: "LlamaForCausalLM", attentionBias: false, qkNorm: false, slidingWindow: () => null },
  mistral: {
    className: "MistralForCausalLM",
    attentionBias: false,
    qkNorm: false,
    slidingWindow: ({ sliding_window = 4096 }) => sliding_window,
    fields: { sliding_window: null },
  },
} as const satisfies Readonly<Record<string, Traits>>;

export type Architecture = keyof typeof architectures;

export function isArchitecture(value: unknown): value is Architecture {
  return typeof value === "string" && Object.hasOwn(architectures, value);
}

/** Typed alike for all, so that what one of them leaves out may be asked for. */
export function traitsOf(architecture: Architecture): Traits {
  return architectures[architecture];
}

/** The first `max_window_layers` layers see everything. */
function qwenWindow({ use_sliding_window, sliding_window, max_window_layers, num_hidden_layers }: WindowFields): number | null {
  if (!use_sliding_window || (max_window_layers ?? 28) >= num_hidden_layers) return null;
  return sliding_window === undefined ? 4096 : sliding_window;
}
