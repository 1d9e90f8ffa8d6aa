/** What comes of asking for a device, in a process of its own: drivers are looked for once in each. `device-process.ts DEVICE` */
import { chooseProvider, type Device } from "../extensions/local/device-choice.ts";

try {
  console.log((await chooseProvider(process.argv[2] as Device, 1)).description);
} catch (error) {
  console.log(String(error));
}
