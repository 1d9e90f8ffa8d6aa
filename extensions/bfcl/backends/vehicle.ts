import { callMethod, joinTexts } from "../../python/methods.ts";
import { add, divide, modulo, multiply, subtract, toFloat } from "../../python/numbers.ts";
import { compare, contains, equal, getItem, iterate, setItem, truth } from "../../python/operators.ts";
import type { PythonRandom } from "../../python/random.ts";
import { Dict, type Value } from "../../python/values.ts";
import { configured, defineBackend, error, itemsOf } from "./backend.ts";
import { seededBy } from "./seed.ts";
import { longDict, longList, longText, type Shared } from "./shared.ts";

interface VehicleState {
  _random: PythonRandom;
  fuelLevel: Value;
  batteryVoltage: Value;
  engine_state: Value;
  remainingUnlockedDoors: Value;
  doorStatus: Value;
  acTemperature: Value;
  fanSpeed: Value;
  acMode: Value;
  humidityLevel: Value;
  headLightStatus: Value;
  parkingBrakeStatus: Value;
  _parkingBrakeForce: Value;
  _slopeAngle: Value;
  brakePedalStatus: Value;
  _brakePedalForce: Value;
  distanceToNextVehicle: Value;
  cruiseStatus: Value;
  destination: Value;
  frontLeftTirePressure: Value;
  frontRightTirePressure: Value;
  rearLeftTirePressure: Value;
  rearRightTirePressure: Value;
  long_context: Value;
  _shared: Shared;
}

const maxFuelLevel = 50n;
const minFuelLevel = 0;
const milesPerGallon = 20;

const zipCodes = Dict.of({
  Rivermist: "83214",
  Stonebrook: "74532",
  Maplecrest: "56108",
  Silverpine: "62947",
  Shadowridge: "71354",
  "Sunset Valley": "83462",
  Oakendale: "47329",
  Willowbend: "52013",
  "Crescent Hollow": "69238",
  Autumnville: "51479",
  "San Francisco": "94016",
});

/** Distances between zip codes, in both directions. */
const distances: readonly (readonly [string, string, number])[] = [
  ["83214", "74532", 750],
  ["56108", "62947", 320],
  ["71354", "83462", 450],
  ["47329", "52013", 290],
  ["69238", "51479", 630],
  ["94016", "83214", 980],
  ["94016", "94704", 600],
  ["94704", "08540", 2550],
  ["94016", "08540", 1950],
  ["62947", "47329", 1053],
  ["94016", "62947", 780],
  ["74532", "94016", 880],
];

/** An entry that the long_context category adds to a result. No entry in the others. */
function added({ long_context }: VehicleState, key: string, text: string): Readonly<Record<string, Value>> {
  return truth(long_context) ? { [key]: longText(text) } : {};
}

function load(config: Dict, longContext: boolean, shared: Shared): VehicleState {
  const doors = configured(
    config,
    "doorStatus",
    Dict.of({ driver: "unlocked", passenger: "unlocked", rear_left: "unlocked", rear_right: "unlocked" }),
  );
  const locked = iterate(callMethod(doors, "keys")).filter((door) => equal(getItem(doors, door), "locked")).length;
  return {
    _random: seededBy(config, 141053n),
    fuelLevel: configured(config, "fuelLevel", 0),
    batteryVoltage: configured(config, "batteryVoltage", 12.6),
    engine_state: configured(config, "engineState", "stopped"),
    remainingUnlockedDoors: 4n - BigInt(locked),
    doorStatus: doors,
    acTemperature: configured(config, "acTemperature", 25),
    fanSpeed: configured(config, "fanSpeed", 50n),
    acMode: configured(config, "acMode", "auto"),
    humidityLevel: configured(config, "humidityLevel", 50),
    headLightStatus: configured(config, "headLightStatus", "off"),
    parkingBrakeStatus: configured(config, "parkingBrakeStatus", "released"),
    _parkingBrakeForce: configured(config, "parkingBrakeForce", 0),
    _slopeAngle: configured(config, "slopeAngle", 0),
    brakePedalStatus: configured(config, "brakePedalStatus", "released"),
    _brakePedalForce: configured(config, "brakePedalForce", 0),
    distanceToNextVehicle: configured(config, "distanceToNextVehicle", 50),
    cruiseStatus: configured(config, "cruiseStatus", "inactive"),
    destination: configured(config, "destination", "None"),
    frontLeftTirePressure: configured(config, "frontLeftTirePressure", 32),
    frontRightTirePressure: configured(config, "frontRightTirePressure", 32),
    rearLeftTirePressure: configured(config, "rearLeftTirePressure", 30),
    rearRightTirePressure: configured(config, "rearRightTirePressure", 30),
    long_context: longContext,
    _shared: shared,
  };
}

/** Returns the values that `displayCarStatus` shows under an option. */
function statusOf(state: VehicleState, option: Value): Readonly<Record<string, Value>> {
  if (equal(option, "fuel")) return { fuelLevel: state.fuelLevel };
  if (equal(option, "battery")) return { batteryVoltage: state.batteryVoltage };
  if (equal(option, "doors")) return { doorStatus: state.doorStatus };
  if (equal(option, "climate"))
    return {
      currentACTemperature: state.acTemperature,
      fanSpeed: state.fanSpeed,
      climateMode: state.acMode,
      humidityLevel: state.humidityLevel,
    };
  if (equal(option, "headlights")) return { headlightStatus: state.headLightStatus };
  if (equal(option, "parkingBrake"))
    return {
      parkingBrakeStatus: state.parkingBrakeStatus,
      parkingBrakeForce: state._parkingBrakeForce,
      slopeAngle: state._slopeAngle,
    };
  if (equal(option, "brakePedal")) return { brakePedalStatus: state.brakePedalStatus, brakePedalForce: state._brakePedalForce };
  if (equal(option, "engine")) return { engineState: state.engine_state };
  return { error: "Invalid option" };
}

function releaseBrake(state: VehicleState): Dict {
  state.brakePedalStatus = "released";
  state._brakePedalForce = 0;
  return Dict.of({ brakePedalStatus: "released", brakePedalForce: 0 });
}

/** Locks or unlocks doors one after the other: a door that does not exist ends it, and the earlier ones stay changed. */
function setDoors(state: VehicleState, doors: Value, status: "locked" | "unlocked"): Dict {
  for (const door of iterate(doors)) {
    if (equal(getItem(state.doorStatus, door), status)) continue;
    setItem(state.doorStatus, door, status);
    state.remainingUnlockedDoors = add(state.remainingUnlockedDoors, status === "unlocked" ? 1n : -1n);
  }
  return Dict.of({ lockStatus: status, remainingUnlockedDoors: state.remainingUnlockedDoors });
}

export const vehicleBackend = defineBackend<VehicleState>("VehicleControlAPI", load, {
  "startEngine(ignitionMode)": (state, mode) => {
    if (equal(mode, "STOP")) state.engine_state = "stopped";
    if (compare(state.remainingUnlockedDoors, ">", 0n)) {
      const unlocked = itemsOf(state.doorStatus).filter(([, status]) => equal(status, "unlocked"));
      const names = joinTexts(
        ", ",
        unlocked.map(([door]) => door),
      );
      return error(`All doors must be locked before starting the engine. Here are the unlocked doors: ${names}`);
    }
    if (!equal(state.brakePedalStatus, "pressed")) return error("Brake pedal needs to be pressed when starting the engine.");
    if (!equal(state._brakePedalForce, 1000)) return error("Must press the brake fully before starting the engine.");
    if (compare(state.fuelLevel, "<", minFuelLevel)) return error("Fuel tank is empty.");
    if (!equal(mode, "START")) return error("Invalid ignition mode.");
    state.engine_state = "running";
    return Dict.of({ engineState: "running", fuelLevel: state.fuelLevel, batteryVoltage: state.batteryVoltage });
  },
  "fillFuelTank(fuelAmount)": (state, amount) => {
    if (compare(amount, "<", 0n)) return error("Fuel amount cannot be negative.");
    if (compare(add(state.fuelLevel, amount), ">", maxFuelLevel)) return error("Cannot fill gas above the tank capacity.");
    if (compare(add(state.fuelLevel, amount), "<", minFuelLevel))
      return error("Fuel tank is empty. Min fuel level is 0 gallons.");
    state.fuelLevel = add(state.fuelLevel, amount, "+=");
    return Dict.of({ fuelLevel: state.fuelLevel });
  },
  "lockDoors(unlock, door)": (state, unlock, doors) => setDoors(state, doors, truth(unlock) ? "unlocked" : "locked"),
  "adjustClimateControl(temperature, unit='celsius', fanSpeed=50, mode='auto')": (state, temperature, unit, fan, mode) => {
    if (!compare(0n, "<=", fan) || !compare(fan, "<=", 100n)) return error("Fan speed must be between 0 and 100.");
    state.acTemperature = temperature;
    if (equal(unit, "fahrenheit")) state.acTemperature = divide(multiply(subtract(temperature, 32n), 5n), 9n);
    state.fanSpeed = fan;
    state.acMode = mode;
    return Dict.of({ currentACTemperature: temperature, climateMode: mode, humidityLevel: state.humidityLevel });
  },
  "get_outside_temperature_from_google()": (state) => {
    const temperature = state._random.uniform(-10, 40);
    if (!truth(state.long_context)) return Dict.of({ outsideTemperature: temperature });
    const long = longDict(state._shared, "LONG_WEATHER_EXTENSION");
    long.set("outsideTemperature", temperature);
    return long;
  },
  "get_outside_temperature_from_weather_com()": () => Dict.of({ error: 404n }),
  "setHeadlights(mode)": (state, mode) => {
    if (!contains(["on", "off", "auto"], mode)) return error("Invalid headlight mode.");
    state.headLightStatus = equal(mode, "on") ? "on" : "off";
    return Dict.of({ headlightStatus: state.headLightStatus });
  },
  "displayCarStatus(option)": (state, option) => {
    return Dict.of({ ...added(state, "metadata", "CAR_STATUS_METADATA_EXTENSION"), ...statusOf(state, option) });
  },
  "activateParkingBrake(mode)": (state, mode) => {
    if (!contains(["engage", "release"], mode)) return error("Invalid mode");
    const engage = equal(mode, "engage");
    state.parkingBrakeStatus = engage ? "engaged" : "released";
    state._parkingBrakeForce = engage ? 500 : 0;
    state._slopeAngle = 10;
    return Dict.of({
      ...added(state, "parkingBrakeInstruction", "PARKING_BRAKE_INSTRUCTION"),
      parkingBrakeStatus: state.parkingBrakeStatus,
      _parkingBrakeForce: state._parkingBrakeForce,
      _slopeAngle: 10,
    });
  },
  "pressBrakePedal(pedalPosition)": (state, position) => {
    if (!compare(0n, "<=", position) || !compare(position, "<=", 1n)) return error("Pedal position must be between 0 and 1.");
    if (equal(position, 0n)) return releaseBrake(state);
    const force = multiply(position, 1000n);
    state.brakePedalStatus = "pressed";
    state._brakePedalForce = force;
    return Dict.of({ brakePedalStatus: "pressed", brakePedalForce: toFloat(force) });
  },
  "releaseBrakePedal()": releaseBrake,
  "setCruiseControl(speed, activate, distanceToNextVehicle)": (state, speedGiven, activate, distanceGiven) => {
    const distance = toFloat(distanceGiven);
    const speed = toFloat(speedGiven);
    if (equal(state.engine_state, "stopped")) return error("Start the engine before activating the cruise control.");
    state.distanceToNextVehicle = distance;
    const active = truth(activate);
    if (active && (speed < 0 || speed > 120 || !equal(modulo(speed, 5n), 0n))) return error("Invalid speed");
    state.cruiseStatus = active ? "active" : "inactive";
    return Dict.of({ cruiseStatus: state.cruiseStatus, currentSpeed: speed, distanceToNextVehicle: distance });
  },
  "get_current_speed()": ({ _random }) => Dict.of({ currentSpeed: _random.uniform(0, 120) }),
  "display_log(messages)": (_, messages) => Dict.of({ log: messages }),
  "estimate_drive_feasibility_by_mileage(distance)": ({ fuelLevel }, distance) =>
    Dict.of({ canDrive: !compare(multiply(fuelLevel, milesPerGallon), "<", distance) }),
  "liter_to_gallon(liter)": (_, liter) => Dict.of({ gallon: multiply(liter, 0.264172) }),
  "gallon_to_liter(gallon)": (_, gallon) => Dict.of({ liter: multiply(gallon, 3.78541) }),
  "estimate_distance(cityA, cityB)": (state, a, b) => {
    const known = distances.find(([from, to]) => (equal(a, from) && equal(b, to)) || (equal(a, to) && equal(b, from)));
    const distance: Dict = known === undefined ? error("distance not found in database.") : Dict.of({ distance: known[2] });
    if (truth(state.long_context)) distance.set("intermediaryCities", longList("INTERMEDIARY_CITIES"));
    return distance;
  },
  "get_zipcode_based_on_city(city)": (_, city) =>
    Dict.of({ zipcode: (typeof city === "string" ? zipCodes.get(city) : undefined) ?? "00000" }),
  "set_navigation(destination)": (state, destination) => {
    state.destination = destination;
    return Dict.of({ status: add("Navigating to ", destination) });
  },
  "check_tire_pressure()": (state) => {
    const { frontLeftTirePressure, frontRightTirePressure, rearLeftTirePressure, rearRightTirePressure } = state;
    const sum = add(add(add(frontLeftTirePressure, frontRightTirePressure), rearLeftTirePressure), rearRightTirePressure);
    const mean = divide(sum, 4n);
    return Dict.of({
      frontLeftTirePressure,
      frontRightTirePressure,
      rearLeftTirePressure,
      rearRightTirePressure,
      healthy_tire_pressure: compare(30n, "<=", mean) && compare(mean, "<=", 35n),
      car_info: truth(state.long_context) ? longText("CAR_STATUS_METADATA_EXTENSION") : new Dict(),
    });
  },
  "find_nearest_tire_shop()": () => Dict.of({ shopLocation: "456 Oakwood Avenue, Rivermist, 83214" }),
});
