/** Every proper name of the world. All are capitalised single words, so that a small model can copy them. */

// biome-ignore format: word lists
export const firstNames = [
  "Ana", "Bob", "Carl", "Dana", "Eva", "Finn", "Gina", "Hugo", "Ida", "Jan", "Karl", "Lena", "Max", "Nora", "Omar", "Pia", "Quinn",
  "Rosa", "Sam", "Tom", "Uma", "Vera", "Will", "Yara", "Zoe", "Amir", "Bela", "Chen", "Dev", "Elif", "Femi", "Greta", "Hana", "Ivan",
  "Jun", "Kofi", "Lara", "Mia", "Nils", "Olga",
] as const;

// biome-ignore format: word lists
export const surnames = [
  "Silva", "Kim", "Novak", "Berg", "Costa", "Diaz", "Ellis", "Fox", "Grant", "Haas", "Ito", "Jones", "Khan", "Lopez", "Moser", "Park",
] as const;

// biome-ignore format: word lists
export const eventTitles = [
  "Review", "Lunch", "Standup", "Demo", "Training", "Interview", "Planning", "Workshop", "Retro", "Dinner", "Party", "Checkup",
  "Yoga", "Concert", "Webinar", "Audit", "Briefing", "Picnic", "Seminar", "Hearing",
] as const;

// biome-ignore format: word lists
export const fileNames = [
  "Report", "Budget", "Contract", "Invoice", "Slides", "Photo", "Letter", "Roadmap", "Poster", "Survey", "Map", "Logo",
] as const;

// biome-ignore format: word lists
export const noteTitles = [
  "Rent", "Taxi", "Gift", "Ticket", "Hotel", "Coffee", "Books", "Paint", "Lamp", "Train", "Flowers", "Repair", "Parking", "Snacks",
  "Stamps", "Cinema",
] as const;

export const greetings = ["Thanks", "Hello", "Yes", "No", "Later", "Welcome", "Great", "Soon", "Agreed", "Ready"] as const;

export const folders = ["Drafts", "Archive", "Public", "Private", "Team"] as const;

export const days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"] as const;
export type Day = (typeof days)[number];

/** From 10:00 to 17:30. Nothing is ever at 09:00, the time that a careless assistant makes up. */
export const times = Array.from({ length: 16 }, (_, i) => `${10 + Math.floor(i / 2)}:${i % 2 === 0 ? "00" : "30"}`);
