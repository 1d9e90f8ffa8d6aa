/** Words that a world draws from. Those of the challenge split occur in no other customary split. */
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
    "Rosa", "Sam", "Tom", "Uma", "Vera", "Will", "Yara", "Zoe", "Amir", "Bela", "Chen", "Dev", "Elif", "Femi", "Greta", "Abel", "Britt",
    "Cleo", "Dario", "Edith", "Fritz", "Gwen", "Heidi", "Igor", "Jade", "Kira", "Leo", "Maya", "Ned", "Otto", "Paul", "Rita", "Sven",
    "Tara", "Ugo", "Vito", "Wanda", "Xenia", "Yusuf", "Zelda", "Aldo", "Basil", "Cora", "Doris", "Emil", "Flora", "Goran", "Hilda", "Imre",
    "Joan", "Kemal", "Lotte", "Miro", "Nadia", "Oskar", "Priya", "Romy", "Silas", "Tilda", "Vikram", "Wim", "Yoko", "Zeno", "Agnes",
    "Bruno", "Claude", "Delia", "Ezra", "Frida", "Gabor", "Henk", "Iris", "Jonas", "Kai", "Luca", "Marta", "Nico", "Olaf", "Pablo", "Rhea",
    "Stella", "Timo",
  ],
  surnames: [
    "Silva", "Kim", "Novak", "Berg", "Costa", "Diaz", "Ellis", "Fox", "Grant", "Haas", "Ito", "Jones", "Khan", "Lopez", "Moser", "Park",
    "Adams", "Bauer", "Conti", "Duval", "Evans", "Ferro", "Gruber", "Hoang", "Ivers", "Jansen", "Keller", "Lund", "Marin", "Nagy", "Ortiz",
    "Popov", "Rossi", "Stein", "Turner", "Urban", "Vega", "Weber", "Yilmaz", "Zhang",
  ],
  eventTitles: [
    "Review", "Lunch", "Standup", "Demo", "Training", "Interview", "Planning", "Workshop", "Retro", "Dinner", "Party", "Checkup", "Yoga",
    "Concert", "Webinar", "Audit", "Kickoff", "Lecture", "Breakfast", "Exam", "Launch", "Festival", "Clinic", "Rally", "Parade", "Forum",
    "Market", "Class", "Match", "Ceremony", "Summit", "Visit", "Course", "Panel", "Drill", "Hike", "Hackathon", "Farewell", "Tasting",
    "Inspection",
  ],
  fileNames: [
    "Report", "Budget", "Contract", "Invoice", "Slides", "Ticket", "Roadmap", "Poster", "Survey", "Map", "Logo", "Offer", "Menu", "Index",
    "Draft", "Memo", "Letter", "Manual", "Agenda", "Brochure", "Catalog", "Receipt", "Schedule", "Sketch", "Summary", "Thesis", "Voucher",
    "Formula", "Glossary", "Permit", "Chart", "Outline", "Banner", "Journal", "Lexicon", "Register", "Blueprint", "Portrait", "Dossier",
    "Warrant",
  ],
  greetings: [
    "Thanks", "Hello", "Later", "Welcome", "Great", "Soon", "Agreed", "Ready", "Perfect", "Congrats", "Tomorrow", "Approved", "Cancelled",
    "Understood", "Correct", "Always", "Maybe", "Never", "Delayed", "Arrived",
  ],
};

// biome-ignore format: word lists
const heldOut: Words = {
  firstNames: ["Hana", "Ivan", "Jun", "Kofi", "Lara", "Mia", "Nils", "Olga", "Petra", "Ravi"],
  surnames: ["Quist", "Reyes", "Sato", "Tran", "Ueda", "Vogt"],
  eventTitles: ["Briefing", "Picnic", "Seminar", "Hearing", "Gala", "Rehearsal", "Reunion", "Tour", "Debate", "Auction"],
  fileNames: ["Ledger", "Atlas", "Recipe", "Script", "Syllabus", "Patent", "Diary", "Essay", "Quiz", "Theme"],
  greetings: ["Sure", "Cheers", "Noted"],
};

export const wordsOf = (split: "train" | "challenge"): Words => (split === "challenge" ? heldOut : trained);

/** Every proper name and greeting of all splits. */
export const allWords: readonly string[] = [trained, heldOut].flatMap((words) => Object.values(words).flat());

export const days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"] as const;
export type Day = (typeof days)[number];

/** From 10:00 to 17:30. */
export const times = Array.from({ length: 16 }, (_, i) => `${10 + Math.floor(i / 2)}:${i % 2 === 0 ? "00" : "30"}`);
