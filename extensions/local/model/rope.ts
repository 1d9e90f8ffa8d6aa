import { z } from "zod";
import { ModelError } from "../../../src/core/errors.ts";

/** Rotary positions (arXiv:2104.09864): the angle of pair i at position p is p·θ^(−2i/headDim), rescaled. */
export interface Rope {
  readonly theta: number;
  /** Undefined for plain rotary positions. */
  readonly scaling: Llama3Scaling | LinearScaling | undefined;
}

/** Divides all frequencies, as positions divided by the factor would. */
export interface LinearScaling {
  readonly factor: number;
}

/** Llama 3's rescaling of low frequencies. */
export interface Llama3Scaling {
  readonly factor: number;
  readonly lowFreqFactor: number;
  readonly highFreqFactor: number;
  readonly originalMaxPositionEmbeddings: number;
}

const size = z.int().positive();
export const ropeSchema = z.looseObject({
  rope_type: z.string().nullish(),
  type: z.string().nullish(),
  rope_theta: z.number().positive().nullish(),
  partial_rotary_factor: z.number().nullish(),
});
const groupsSchema = z.looseObject({ full_attention: ropeSchema.nullish(), sliding_attention: ropeSchema.nullish() });
const linearSchema = z.object({ factor: z.number().positive() });
const llama3Schema = z.object({
  factor: z.number().positive(),
  low_freq_factor: z.number().positive(),
  high_freq_factor: z.number().positive(),
  original_max_position_embeddings: size,
});

/** The fields of `config.json` about rotary positions. */
export interface RopeFields {
  readonly rope_theta?: number | null;
  readonly rope_local_base_freq?: number | null;
  readonly partial_rotary_factor?: number | null;
  readonly rope_scaling?: z.infer<typeof ropeSchema> | null;
  readonly rope_parameters?: z.infer<typeof ropeSchema> | null;
  readonly original_max_position_embeddings?: number | null;
}

/**
 * As `transformers` reads it: `rope_scaling` goes before `rope_parameters`, what stands inside of them before what stands beside.
 * @param theta where the file has none
 */
export function parseRope(config: RopeFields, file: string, theta: number): Rope {
  const [field, given] =
    config.rope_scaling != null && Object.keys(config.rope_scaling).length > 0
      ? (["rope_scaling", config.rope_scaling] as const)
      : (["rope_parameters", config.rope_parameters ?? {}] as const);
  const nested = Object.values(given).find((value) => typeof value === "object" && value !== null);
  if (nested !== undefined) {
    throw new ModelError(`${field} in ${file}`, given, { expected: "the same for all layers, as numbers by name" });
  }
  return ropeOf(given, config, file, theta);
}

/** Settings of their own for layers with a window and for those without, as Gemma 3 has them: `rope_local_base_freq`, or groups by type. */
export function parseRopes(
  config: RopeFields,
  file: string,
  theta: { full: number; sliding: number },
): Record<"full" | "sliding", Rope> {
  const parsed = groupsSchema.safeParse(config.rope_parameters ?? {});
  if (!parsed.success)
    throw new ModelError(`rope_parameters in ${file}`, config.rope_parameters, { expected: z.prettifyError(parsed.error) });
  const groups = parsed.data;
  const plain = { partial_rotary_factor: config.partial_rotary_factor };
  const full = { ...groups.full_attention, ...config.rope_scaling };
  return {
    full: ropeOf(full, { ...plain, rope_theta: config.rope_theta }, file, theta.full),
    sliding: ropeOf(groups.sliding_attention ?? {}, { ...plain, rope_theta: config.rope_local_base_freq }, file, theta.sliding),
  };
}

function ropeOf(given: z.infer<typeof ropeSchema>, beside: RopeFields, file: string, customary: number): Rope {
  const theta = given.rope_theta ?? beside.rope_theta ?? customary;
  const rotated = given.partial_rotary_factor ?? beside.partial_rotary_factor ?? 1;
  if (rotated !== 1) throw new ModelError(`partial_rotary_factor in ${file}`, rotated, { expected: [1] });
  const kind = given.rope_type ?? given.type ?? "default";
  const typeField = `rope_type in ${file}`;
  const malformed = (error: z.ZodError) => new ModelError(typeField, kind, { expected: z.prettifyError(error) });
  if (kind === "default") return { theta, scaling: undefined };
  if (kind === "linear") {
    const linear = linearSchema.safeParse(given);
    if (!linear.success) throw malformed(linear.error);
    return { theta, scaling: linear.data };
  }
  if (kind !== "llama3") throw new ModelError(typeField, kind, { expected: ["default", "linear", "llama3"] });
  const llama3 = llama3Schema.safeParse(given);
  if (!llama3.success) throw malformed(llama3.error);
  return {
    theta,
    scaling: {
      factor: llama3.data.factor,
      lowFreqFactor: llama3.data.low_freq_factor,
      highFreqFactor: llama3.data.high_freq_factor,
      originalMaxPositionEmbeddings: beside.original_max_position_embeddings ?? llama3.data.original_max_position_embeddings,
    },
  };
}

/** `rope_scaling` as every version of `transformers` reads it. */
export function formatScaling({ scaling }: Rope): Record<string, unknown> | null {
  if (scaling === undefined) return null;
  if (!("lowFreqFactor" in scaling)) return { rope_type: "linear", factor: scaling.factor };
  return {
    rope_type: "llama3",
    factor: scaling.factor,
    low_freq_factor: scaling.lowFreqFactor,
    high_freq_factor: scaling.highFreqFactor,
    original_max_position_embeddings: scaling.originalMaxPositionEmbeddings,
  };
}

/** Radians per token of pair i of a head. */
export function rotaryFrequency({ theta, scaling }: Rope, headDim: number, pair: number): number {
  const frequency = theta ** ((-2 * pair) / headDim);
  if (scaling === undefined) return frequency;
  return "lowFreqFactor" in scaling ? llama3Frequency(frequency, scaling) : frequency / scaling.factor;
}

/** Long wavelengths are stretched by `factor`, short ones kept, those between blended. */
function llama3Frequency(frequency: number, scaling: Llama3Scaling): number {
  const { factor, lowFreqFactor, highFreqFactor, originalMaxPositionEmbeddings: original } = scaling;
  const wavelength = (2 * Math.PI) / frequency;
  if (wavelength < original / highFreqFactor) return frequency;
  if (wavelength > original / lowFreqFactor) return frequency / factor;
  const blend = (original / wavelength - lowFreqFactor) / (highFreqFactor - lowFreqFactor);
  return ((1 - blend) * frequency) / factor + blend * frequency;
}

/** Llama 3's rescaling with the bounds that its models have. */
export function llama3Rescaling(factor: number, originalMaxPositionEmbeddings = 8192): Llama3Scaling {
  return { factor, lowFreqFactor: 1, highFreqFactor: 4, originalMaxPositionEmbeddings };
}

/** True if dividing plain frequencies by `divisors`, one for each pair, is a rescaling, as far as float32 says. */
export function isSameRescaling(divisors: Float32Array, rope: Rope, headDim: number): boolean {
  const plain = { theta: rope.theta, scaling: undefined };
  return (
    divisors.length === headDim / 2 &&
    divisors.every((divisor, pair) => {
      const expected = rotaryFrequency(plain, headDim, pair) / rotaryFrequency(rope, headDim, pair);
      return Math.abs(divisor / expected - 1) < 1e-4;
    })
  );
}
