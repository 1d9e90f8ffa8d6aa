import type { Split } from "../environment.ts";

/** Words that a world draws from. Those of the challenge split occur in no other split. */
export interface Words {
  readonly firstNames: readonly string[];
  readonly surnames: readonly string[];
  readonly eventTitles: readonly string[];
  readonly fileNames: readonly string[];
  readonly greetings: readonly string[];
}

// biome-ignore format: word lists
const trained: Words = {
  firstNames: [
    "Ana", "Bob", "Carl", "Dana", "Eva", "Finn", "Gina", "Hugo", "Ida", "Jan", "Karl", "Lena", "Max", "Nora", "Omar", "Pia", "Quinn",
    "Rosa", "Sam", "Tom", "Uma", "Vera", "Will", "Yara", "Zoe", "Amir", "Bela", "Chen", "Dev", "Elif", "Femi", "Greta",
  ],
  surnames: ["Silva", "Kim", "Novak", "Berg", "Costa", "Diaz", "Ellis", "Fox", "Grant", "Haas", "Ito", "Jones", "Khan", "Lopez", "Moser", "Park"],
  eventTitles: [
    "Review", "Lunch", "Standup", "Demo", "Training", "Interview", "Planning", "Workshop", "Retro", "Dinner", "Party", "Checkup",
    "Yoga", "Concert", "Webinar", "Audit",
  ],
  fileNames: [
    "Report", "Budget", "Contract", "Invoice", "Slides", "Ticket", "Roadmap", "Poster", "Survey", "Map", "Logo", "Offer", "Menu",
    "Index", "Draft", "Memo",
  ],
  greetings: ["Thanks", "Hello", "Later", "Welcome", "Great", "Soon", "Agreed", "Ready"],
};

// biome-ignore format: word lists
const heldOut: Words = {
  firstNames: ["Hana", "Ivan", "Jun", "Kofi", "Lara", "Mia", "Nils", "Olga", "Petra", "Ravi"],
  surnames: ["Quist", "Reyes", "Sato", "Tran", "Ueda", "Vogt"],
  eventTitles: ["Briefing", "Picnic", "Seminar", "Hearing", "Gala", "Rehearsal", "Reunion", "Tour", "Debate", "Auction"],
  fileNames: ["Ledger", "Atlas", "Recipe", "Script", "Syllabus", "Patent", "Diary", "Essay", "Quiz", "Theme"],
  greetings: ["Sure", "Cheers", "Noted"],
};

export const wordsOf = (split: Split): Words => (split === "challenge" ? heldOut : trained);

/** Every proper name and greeting of all splits. */
export const allWords: readonly string[] = [trained, heldOut].flatMap((words) => Object.values(words).flat());

export const days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"] as const;
export type Day = (typeof days)[number];

/** From 10:00 to 17:30. */
export const times = Array.from({ length: 16 }, (_, i) => `${10 + Math.floor(i / 2)}:${i % 2 === 0 ? "00" : "30"}`);
