import { z } from "zod";
import { ModelError } from "../../../src/core/errors.ts";
import { size } from "./architectures.ts";

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

const ropeSchema = z.looseObject({
  rope_type: z.string().nullish(),
  type: z.string().nullish(),
  rope_theta: z.number().positive().nullish(),
  partial_rotary_factor: z.number().nullish(),
});
const groupsSchema = z.looseObject({ full_attention: ropeSchema.nullish(), sliding_attention: ropeSchema.nullish() });
const linearSchema = z.object({ factor: z.number().positive() });
const llama3Schema = z
  .object({
    factor: z.number().positive(),
    low_freq_factor: z.number().positive(),
    high_freq_factor: z.number().positive(),
    original_max_position_embeddings: z.int().positive(),
  })
  .transform((file) => ({
    factor: file.factor,
    lowFreqFactor: file.low_freq_factor,
    highFreqFactor: file.high_freq_factor,
    originalMaxPositionEmbeddings: file.original_max_position_embeddings,
  }));

/** The fields of `config.json` about rotary positions. */
export const ropeFields = z.object({
  rope_theta: z.number().positive().nullish(),
  rope_local_base_freq: z.number().positive().nullish(),
  partial_rotary_factor: z.number().nullish(),
  rope_scaling: ropeSchema.nullish(),
  rope_parameters: ropeSchema.nullish(),
  original_max_position_embeddings: size.nullish(),
});
type RopeFields = z.infer<typeof ropeFields>;

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
  theta: { readonly full: number; readonly sliding: number },
): { rope: Rope; slidingRope: Rope } {
  const parsed = groupsSchema.safeParse(config.rope_parameters ?? {});
  if (!parsed.success)
    throw new ModelError(`rope_parameters in ${file}`, config.rope_parameters, { expected: z.prettifyError(parsed.error) });
  const groups = parsed.data;
  const plain = { partial_rotary_factor: config.partial_rotary_factor };
  const full = { ...groups.full_attention, ...config.rope_scaling };
  return {
    rope: ropeOf(full, { ...plain, rope_theta: config.rope_theta }, file, theta.full),
    slidingRope: ropeOf(
      groups.sliding_attention ?? {},
      { ...plain, rope_theta: config.rope_local_base_freq },
      file,
      theta.sliding,
    ),
  };
}

function ropeOf(given: z.infer<typeof ropeSchema>, beside: RopeFields, file: string, customary: number): Rope {
  const theta = given.rope_theta ?? beside.rope_theta ?? customary;
  const rotated = given.partial_rotary_factor ?? beside.partial_rotary_factor ?? 1;
  if (rotated !== 1) throw new ModelError(`partial_rotary_factor in ${file}`, rotated, { expected: [1] });
  const kind = given.rope_type ?? given.type ?? "default";
  const typeField = `rope_type in ${file}`;
  const scalingBy = <Schema extends z.ZodType>(schema: Schema): z.output<Schema> => {
    const { data, error } = schema.safeParse(given);
    if (error !== undefined) throw new ModelError(typeField, kind, { expected: z.prettifyError(error) });
    return data;
  };
  if (kind === "default") return { theta, scaling: undefined };
  if (kind === "linear") return { theta, scaling: scalingBy(linearSchema) };
  if (kind !== "llama3") throw new ModelError(typeField, kind, { expected: ["default", "linear", "llama3"] });
  const llama3 = scalingBy(llama3Schema);
  const original = beside.original_max_position_embeddings ?? llama3.originalMaxPositionEmbeddings;
  return { theta, scaling: { ...llama3, originalMaxPositionEmbeddings: original } };
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

/** The numbers that llama.cpp divides plain frequencies by, one for each pair. */
export function divisorsOf(rope: Rope, headDim: number): Float32Array {
  const plain = { theta: rope.theta, scaling: undefined };
  const divisor = (pair: number) => rotaryFrequency(plain, headDim, pair) / rotaryFrequency(rope, headDim, pair);
  return Float32Array.from({ length: headDim / 2 }, (_, pair) => divisor(pair));
}

/** True if dividing plain frequencies by `divisors`, one for each pair, is a rescaling, as far as float32 says. */
export function isSameRescaling(divisors: Float32Array, rope: Rope, headDim: number): boolean {
  const expected = divisorsOf(rope, headDim);
  return divisors.length === expected.length && divisors.every((divisor, pair) => Math.abs(divisor / expected[pair] - 1) < 1e-4);
}
