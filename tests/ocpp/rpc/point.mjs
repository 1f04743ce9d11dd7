// A charge point of the package `ocpp-rpc`, which holds all messages against the schemas.
//
//     node point.mjs ADDRESS IDENTITY PASSWORD VERSION
//
// It introduces itself, charges, and obeys the limits that it is given. It prints one JSON document a
// line, and ends its transaction when its input ends.
import { once } from "node:events";
import { RPCClient } from "ocpp-rpc";

const [endpoint, identity, password, version] = process.argv.slice(2);
const isOld = version === "ocpp1.6";
const say = (document) => console.log(JSON.stringify(document));
const now = () => new Date().toISOString();

const point = new RPCClient({
  endpoint,
  identity,
  password,
  protocols: [version],
  strictMode: true,
  reconnect: false,
});
point.on("strictValidationFailure", (failure) => {
  console.error(failure.error);
  process.exit(1);
});

// Limits by the identifier of their profile; the higher level leads.
const profiles = new Map();
let registerWh = 1000;
let transaction = isOld ? undefined : "tx-rpc";
let sequence = 0;
let isCharging = false;

const limitAmps = () => {
  const all = [...profiles.values()].sort((a, b) => rank(b) - rank(a));
  return all.length ? scheduleOf(all[0]).chargingSchedulePeriod[0].limit : 16;
};
const rank = (profile) =>
  profile.stackLevel + (profile.chargingProfilePurpose === "TxProfile" ? 1000 : 0);
const scheduleOf = (profile) =>
  isOld ? profile.chargingSchedule : profile.chargingSchedule[0];

async function measure() {
  registerWh += 100;
  const limit = limitAmps();
  const power = limit * 230 * 3;
  const measurands = [
    ["Energy.Active.Import.Register", registerWh, "Wh"],
    ["Power.Active.Import", power, "W"],
  ];
  const sampledValue = measurands.map(([measurand, value, unit]) =>
    isOld
      ? { value: String(value), measurand, unit }
      : { value, measurand, unitOfMeasure: { unit } },
  );
  const meterValue = [{ timestamp: now(), sampledValue }];
  if (isOld) {
    await point.call("MeterValues", { connectorId: 1, transactionId: transaction, meterValue });
  } else {
    await report("Updated", "Charging", { meterValue });
  }
  return limit;
}

const report = (eventType, chargingState, more = {}) =>
  point.call("TransactionEvent", {
    eventType,
    timestamp: now(),
    triggerReason: "ChargingStateChanged",
    seqNo: sequence++,
    transactionInfo: { transactionId: transaction, chargingState },
    evse: { id: 1, connectorId: 1 },
    ...more,
  });

const show = (status) =>
  isOld
    ? point.call("StatusNotification", { connectorId: 1, errorCode: "NoError", status })
    : point.call("StatusNotification", {
        timestamp: now(),
        connectorStatus: status,
        evseId: 1,
        connectorId: 1,
      });

point.handle("SetChargingProfile", ({ params }) => {
  const profile = isOld ? params.csChargingProfiles : params.chargingProfile;
  profiles.set(isOld ? profile.chargingProfileId : profile.id, profile);
  if (isCharging) {
    setImmediate(() => measure().then((limit) => say({ limitAmps: limit })));
  }
  return { status: "Accepted" };
});

await point.connect();
const booted = isOld
  ? await point.call("BootNotification", { chargePointVendor: "Other", chargePointModel: "Rpc" })
  : await point.call("BootNotification", {
      reason: "PowerUp",
      chargingStation: { vendorName: "Other", model: "Rpc" },
    });
say({ booted: booted.status });
await show(isOld ? "Preparing" : "Occupied");
if (isOld) {
  const start = { connectorId: 1, idTag: "ada", meterStart: registerWh, timestamp: now() };
  const answer = await point.call("StartTransaction", start);
  transaction = answer.transactionId;
  await show("Charging");
} else {
  await report("Started", "Charging", { idToken: { idToken: "ada", type: "Central" } });
}
isCharging = true;
await measure();
say({ charging: true });

process.stdin.resume();
await once(process.stdin, "end");
isCharging = false;
if (isOld) {
  await point.call("StopTransaction", {
    transactionId: transaction,
    meterStop: registerWh,
    timestamp: now(),
  });
  await show("Finishing");
} else {
  await report("Ended", "EVConnected");
}
say({ ended: true });
await point.close({ awaitPending: true });
