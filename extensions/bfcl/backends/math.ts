import { best } from "../../python/builtins.ts";
import { decimalSquareRoot } from "../../python/decimal.ts";
import { logarithm } from "../../python/mpmath.ts";
import { absolute, add, divide, multiply, power, round, subtract, sum, toFloat } from "../../python/numbers.ts";
import { compare, equal, iterate, length, truth } from "../../python/operators.ts";
import { Dict, isNumber, PyError, typeError, type Value } from "../../python/values.ts";
import { defineBackend, error, f } from "./backend.ts";

const meters = Dict.from([
  ["km", 1000n],
  ["m", 1n],
  ["cm", 0.01],
  ["mm", 0.001],
  ["um", 1e-6],
  ["nm", 1e-9],
]);

const factors: Readonly<Record<string, number>> = {
  cm_to_in: 0.393701,
  in_to_cm: 2.54,
  m_to_ft: 3.28084,
  ft_to_m: 0.3048,
  m_to_yd: 1.09361,
  yd_to_m: 0.9144,
  km_to_miles: 0.621371,
  miles_to_km: 1.60934,
  kg_to_lb: 2.20462,
  lb_to_kg: 0.453592,
  celsius_to_fahrenheit: 1.8,
  fahrenheit_to_celsius: 5 / 9,
};

/** `{"result": …}`, or what an exception of these kinds is turned into. */
function result(compute: () => Value, kinds: readonly string[], message: string): Dict {
  try {
    return Dict.of({ result: compute() });
  } catch (failure) {
    if (failure instanceof PyError && kinds.includes(failure.kind)) return error(message);
    throw failure;
  }
}

function overNumbers(numbers: Value, what: string, compute: (items: readonly Value[]) => Value): Dict {
  if (!truth(numbers)) return error(`Cannot ${what} of an empty list`);
  return result(() => compute(iterate(numbers)), ["TypeError"], "All elements in the list must be numbers");
}

const notNumbers = "Both inputs must be numbers";
const tooLarge = "Conversion resulted in a value too large to represent";

function mean(numbers: Value, items: readonly Value[]): Value {
  const total = sum(items);
  return divide(total, BigInt(length(numbers)));
}

export const mathBackend = defineBackend("MathAPI", () => ({}), {
  "logarithm(value, base, precision)": (_, value, base, precision) => {
    try {
      return Dict.of({ result: logarithm(value, base, precision) });
    } catch (failure) {
      if (failure instanceof PyError) return error(failure.message);
      throw failure;
    }
  },
  "mean(numbers)": (_, numbers) => overNumbers(numbers, "calculate mean", (items) => mean(numbers, items)),
  "standard_deviation(numbers)": (_, numbers) =>
    overNumbers(numbers, "calculate standard deviation", (items) => {
      const average = mean(numbers, items);
      const squares = items.map((item) => power(subtract(item, average), 2n));
      const variance = divide(sum(squares), BigInt(length(numbers)));
      if (!isNumber(variance)) throw typeError("must be real number, not complex");
      return Math.sqrt(toFloat(variance));
    }),
  "si_unit_conversion(value, unit_in, unit_out)": (_, value, unitIn, unitOut) => {
    if (!isNumber(value)) return error("Value must be a number");
    if (!meters.has(unitIn) || !meters.has(unitOut))
      return error(f`Conversion from '${unitIn}' to '${unitOut}' is not supported`);
    return result(
      () => multiply(multiply(value, meters.get(unitIn) ?? null), divide(1n, meters.get(unitOut) ?? null)),
      ["OverflowError"],
      tooLarge,
    );
  },
  "imperial_si_conversion(value, unit_in, unit_out)": (_, value, unitIn, unitOut) => {
    if (!isNumber(value)) return error("Value must be a number");
    if (equal(unitIn, unitOut)) return Dict.of({ result: value });
    const key = f`${unitIn}_to_${unitOut}`;
    const factor = Object.hasOwn(factors, key) ? factors[key] : undefined;
    if (factor === undefined) return error(f`Conversion from '${unitIn}' to '${unitOut}' is not supported`);
    return result(
      () => {
        if (key === "celsius_to_fahrenheit") return add(multiply(value, factor), 32n);
        if (key === "fahrenheit_to_celsius") return multiply(subtract(value, 32n), factor);
        return multiply(value, factor);
      },
      ["OverflowError"],
      tooLarge,
    );
  },
  "add(a, b)": (_, a, b) => result(() => add(a, b), ["TypeError"], notNumbers),
  "subtract(a, b)": (_, a, b) => result(() => subtract(a, b), ["TypeError"], notNumbers),
  "multiply(a, b)": (_, a, b) =>
    isNumber(a) && isNumber(b) ? result(() => multiply(a, b), ["TypeError"], notNumbers) : error(notNumbers),
  "divide(a, b)": (_, a, b) =>
    equal(b, 0n) ? error("Cannot divide by zero") : result(() => divide(a, b), ["TypeError"], notNumbers),
  "power(base, exponent)": (_, base, exponent) => result(() => power(base, exponent), ["TypeError"], notNumbers),
  "square_root(number, precision)": (_, number, precision) => {
    const wrong = "Input must be a number or computation resulted in an invalid operation";
    try {
      if (compare(number, "<", 0n)) return error("Cannot calculate square root of a negative number");
    } catch (failure) {
      if (failure instanceof PyError && failure.kind === "TypeError") return error(wrong);
      throw failure;
    }
    return result(() => decimalSquareRoot(number, precision), ["TypeError", "InvalidOperation"], wrong);
  },
  "absolute_value(number)": (_, number) => result(() => absolute(number), ["TypeError"], "Input must be a number"),
  "round_number(number, decimal_places=0)": (_, number, places) =>
    result(() => round(number, places), ["TypeError"], "First input must be a number, second input must be an integer"),
  "percentage(part, whole)": (_, part, whole) =>
    equal(whole, 0n)
      ? error("Whole value cannot be zero")
      : result(() => multiply(divide(part, whole), 100n), ["TypeError"], notNumbers),
  "min_value(numbers)": (_, numbers) => overNumbers(numbers, "find minimum", (items) => best("min", items)),
  "max_value(numbers)": (_, numbers) => overNumbers(numbers, "find maximum", (items) => best("max", items)),
  "sum_values(numbers)": (_, numbers) => overNumbers(numbers, "calculate sum", (items) => sum(items)),
});
