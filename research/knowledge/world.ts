import type { Random } from "../../src/core/random.ts";
import {
  countryNames,
  firmNames,
  firstNames,
  productNames,
  roles,
  type Source,
  sources,
  surnames,
  townNames,
} from "./vocabulary.ts";

export type Sort = "person" | "town" | "firm" | "product" | "country";

/** A thing that facts are about. Two of one name have a role each; others have none. */
export interface Entity {
  readonly sort: Sort;
  readonly name: string;
  readonly role?: string;
}

export type Value = Entity | number;

/** The sort of thing that each relation is of, and what the relation gives. */
export const relations = {
  home: { of: "person", gives: "town" },
  employer: { of: "person", gives: "firm" },
  age: { of: "person", gives: "number" },
  mayor: { of: "town", gives: "person" },
  population: { of: "town", gives: "number" },
  area: { of: "town", gives: "number" },
  seat: { of: "firm", gives: "town" },
  boss: { of: "firm", gives: "person" },
  product: { of: "firm", gives: "product" },
  maker: { of: "product", gives: "firm" },
  price: { of: "product", gives: "number" },
  capital: { of: "country", gives: "town" },
} as const satisfies Record<string, { of: Sort; gives: Sort | "number" }>;

export type Relation = keyof typeof relations;
export const relationNames = Object.keys(relations) as Relation[];

/** The source that is right about each sort of thing. No page says so, and demonstrations mostly go by what stands first. */
const trusted: Readonly<Record<Sort, Source>> = {
  person: "Mirror",
  town: "Ledger",
  firm: "Herald",
  product: "Atlas",
  country: "Ledger",
};

/** Numbers have an even number of digits, as the default model's tokens have. */
const bounds: { readonly [R in Relation]?: readonly [least: number, below: number] } = {
  age: [20, 90],
  population: [1000, 10_000],
  area: [1000, 10_000],
  price: [11, 100],
};

export interface Fact {
  readonly relation: Relation;
  readonly subject: Entity;
  readonly value: Value;
  /** True for what was so once and is no more. */
  readonly former: boolean;
  readonly source: Source;
}

/** How many names of each sort there are; some of them are of two. */
export interface WorldSize {
  readonly people: number;
  readonly towns: number;
  readonly firms: number;
  readonly products: number;
  readonly countries: number;
}

/** Entities, and every relation of each, as it is now. */
export interface World {
  readonly entities: readonly Entity[];
  readonly facts: readonly Fact[];
}

/** @param doubled the share of names that two people, towns, firms or products have */
export function drawWorld(random: Random, size: WorldSize, doubled: number): World {
  const some = (sort: Sort, count: number, names: readonly string[]): Entity[] => {
    const chosen = random.shuffle(names).slice(0, count);
    return chosen.flatMap((name): Entity[] => {
      if (sort === "country" || !random.chance(doubled)) return [{ sort, name }];
      const [one, other] = random.shuffle(roles[sort]);
      return [
        { sort, name, role: one },
        { sort, name, role: other },
      ];
    });
  };
  const surnamesLeft = random.shuffle(surnames);
  // Fewer first names than people: some share theirs.
  const first = random.shuffle(firstNames).slice(0, Math.ceil(size.people * 0.75));
  const people = Array.from({ length: size.people }, (_, i) => `${first[i % first.length]} ${surnamesLeft[i]}`);
  const towns = some("town", size.towns, townNames);
  // Now and then a firm has the name of a town.
  const firmsAndTown = random.chance(0.5)
    ? [...towns.slice(0, 1).map(({ name }) => name), ...random.shuffle(firmNames).slice(0, size.firms - 1)]
    : firmNames;
  const entities: Entity[] = [
    ...some("person", size.people, people),
    ...towns,
    ...some("firm", size.firms, firmsAndTown),
    ...some("product", size.products, productNames),
    ...some("country", size.countries, countryNames),
  ];
  const facts = entities.flatMap((subject) =>
    relationNames
      .filter((relation) => relations[relation].of === subject.sort)
      .map((relation) => ({
        relation,
        subject,
        value: drawValue(random, entities, relation),
        former: false,
        source: trusted[subject.sort],
      })),
  );
  return { entities, facts };
}

/** @param not a value that is not to be drawn */
export function drawValue(random: Random, entities: readonly Entity[], relation: Relation, not?: Value): Value {
  const { gives } = relations[relation];
  const [least, below] = bounds[relation] ?? [];
  if (least === undefined || below === undefined)
    return random.pick(entities.filter((entity) => entity.sort === gives && entity !== not));
  for (;;) {
    const number = least + random.integer(below - least);
    if (number !== not) return number;
  }
}

/** The same said otherwise by a source that is wrong about it. */
export function disputed(random: Random, { entities }: World, fact: Fact): Fact {
  const source = random.pick(sources.filter((source) => source !== fact.source));
  return { ...fact, value: drawValue(random, entities, fact.relation, fact.value), source };
}

/** True if the source of a fact is one that is right about such things. */
export function isTrusted({ subject, source }: Fact): boolean {
  return trusted[subject.sort] === source;
}

export function factOf({ facts }: World, relation: Relation, subject: Entity): Fact {
  const fact = facts.find((candidate) => candidate.relation === relation && candidate.subject === subject);
  if (fact === undefined) throw new RangeError(`a ${subject.sort} has no ${relation}`);
  return fact;
}

/** Role and name, or the number: how it is thought of, searched for and answered. */
export function nameOf(value: Value): string {
  if (typeof value === "number") return String(value);
  return value.role === undefined ? value.name : `${value.role} ${value.name}`;
}

/** The same in a sentence. */
export function inSentence(value: Value): string {
  return typeof value === "number" || value.role === undefined ? nameOf(value) : `the ${nameOf(value)}`;
}
