/** Every proper name of the world, each one capitalised word. Which belongs to what is drawn again for every task. */

// biome-ignore format: word lists
export const firstNames = [
  "Ana", "Bob", "Carl", "Dana", "Eva", "Finn", "Gina", "Hugo", "Ida", "Jan", "Lena", "Max", "Nora", "Omar", "Pia", "Rosa", "Sam", "Tom",
  "Uma", "Vera", "Will", "Yara", "Zoe", "Amir",
] as const;

// biome-ignore format: word lists
export const surnames = [
  "Silva", "Kim", "Novak", "Berg", "Costa", "Diaz", "Ellis", "Fox", "Grant", "Haas", "Ito", "Jones", "Khan", "Lopez", "Moser", "Park",
] as const;

// biome-ignore format: word lists
export const townNames = [
  "Marl", "Kesh", "Lund", "Torva", "Bristen", "Calder", "Dorn", "Elmar", "Farrow", "Gorst", "Hollin", "Ister", "Jarrow", "Kolm", "Lissen",
  "Morvan", "Nesk", "Orlo", "Pellin", "Quarn", "Rask", "Selby", "Tavin", "Ulm",
] as const;

// biome-ignore format: word lists
export const firmNames = [
  "Zorin", "Acmon", "Bextra", "Corvel", "Dynar", "Exis", "Fenwick", "Gravia", "Helix", "Ionix", "Juno", "Kelvar", "Lumina", "Mercor",
  "Nexor", "Optima",
] as const;

// biome-ignore format: word lists
export const productNames = [
  "Lumo", "Kato", "Brio", "Cirro", "Delta", "Ember", "Flexo", "Glint", "Halo", "Iris", "Jolt", "Koda", "Lyra", "Mira", "Nimbo", "Onyx",
] as const;

// biome-ignore format: word lists
export const countryNames = ["Orvia", "Kethia", "Solenia", "Tamar", "Ruvia", "Elonia", "Vastia", "Norland", "Pontia", "Zembla"] as const;

/** Where pages are from. Each is right about some sorts of thing and wrong about all others; see `trusted` in world.ts. */
export const sources = ["Atlas", "Herald", "Ledger", "Mirror"] as const;
export type Source = (typeof sources)[number];

/** The roles that distinguish two of one name: "the doctor Dana Kim", "the port Marl". */
export const roles = {
  person: ["doctor", "baker", "pilot", "judge", "painter", "nurse"],
  town: ["port", "spa", "fort", "resort"],
  firm: ["bank", "brewery", "airline", "mill"],
  product: ["lamp", "pen", "watch", "drum"],
} as const;
