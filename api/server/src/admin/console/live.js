// New events go to the top of the table. Without this script the page shows those of its making.
const rows = document.querySelector("tbody");
const note = document.querySelector("[data-live]");
const source = new EventSource(`/console/events/stream?after=${rows.dataset.last}`);
const cell = (row, text) => { row.insertCell().textContent = text; };
source.onopen = () => { note.textContent = "Live: new events appear by themselves."; };
source.onerror = () => { note.textContent = "Not connected; trying again."; };
source.onmessage = (message) => {
  const event = JSON.parse(message.data);
  const row = rows.insertRow(0);
  for (const text of [event.at, event.name]) cell(row, text);
  const home = document.createElement("a");
  home.href = event.home;
  home.textContent = event.user;
  row.insertCell().append(home);
  const target = row.insertCell();
  if (event.device) {
    const link = document.createElement("a");
    link.href = event.device;
    link.textContent = event.target;
    target.append(link);
  } else target.textContent = event.target;
  cell(row, event.data);
  while (rows.rows.length > 200) rows.deleteRow(-1);
};
