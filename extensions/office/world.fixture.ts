import type { World } from "./world.ts";

/** A small office by hand: two people named Ana, one of them away, and an event and a file of each sort. */
export function smallWorld(): World {
  return {
    contacts: [
      { id: "c10", name: "Ana Kim", desk: 45 },
      { id: "c11", name: "Ana Fox", desk: 46, deputy: "Bob Berg" },
      { id: "c12", name: "Bob Berg", desk: 47 },
    ],
    today: "Monday",
    events: [
      { id: "e10", title: "Review", day: "Monday", time: "10:00", status: "open" },
      { id: "e11", title: "Lunch", day: "Tuesday", time: "12:00", status: "settled" },
    ],
    files: [
      { id: "f10", name: "Report", type: "bill", locked: true, sharedWith: [] },
      { id: "f11", name: "Budget", type: "plan", locked: false, note: { id: "n10", text: "private" }, sharedWith: [] },
    ],
    sent: [],
    payments: [],
    parcels: [],
    callsLeft: Number.POSITIVE_INFINITY,
  };
}
