"""Home Assistant with its integration MQTT and nothing else, which obeys orders from its input.

Runs in an environment of its own. Orders and answers are lines of JSON. `["states"]` answers with
all states by entity, `["call", DOMAIN, SERVICE, ENTITY]` calls a service.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from homeassistant import bootstrap, config, config_entries, core, loader
from homeassistant.const import __version__
from homeassistant.setup import async_setup_component


async def start(folder: str, port: int) -> core.HomeAssistant:
    """Start the core with its registries."""
    hass = core.HomeAssistant(folder)
    hass.config.skip_pip = True
    loader.async_setup(hass)
    hass.config_entries = config_entries.ConfigEntries(hass, {})
    await bootstrap.async_load_base_functionality(hass)
    await config.async_process_ha_core_config(hass, {})
    # The integration takes uploads of certificates, which needs a server.
    assert await async_setup_component(
        hass, "http", {"http": {"server_host": "127.0.0.1", "server_port": port}}
    )
    await hass.async_start()
    return hass


async def add_broker(hass: core.HomeAssistant, broker: dict[str, Any]) -> None:
    """Add the integration as a person does in the browser; it tries the connection."""
    context = {"source": config_entries.SOURCE_USER}
    form = await hass.config_entries.flow.async_init("mqtt", context=context)
    made = await hass.config_entries.flow.async_configure(form["flow_id"], broker)
    assert made["type"] == "create_entry", made


async def obey(hass: core.HomeAssistant, order: list[str]) -> Any:
    """Carry out an order."""
    match order:
        case ["states"]:
            states = hass.states.async_all()
            return {
                one.entity_id: {
                    "state": one.state,
                    **json.loads(json.dumps(dict(one.attributes), default=str)),
                }
                for one in states
            }
        case ["call", domain, service, entity]:
            await hass.services.async_call(domain, service, {"entity_id": entity}, blocking=True)
            return True
    return None


async def main() -> None:
    """Start, and answer until the input ends."""
    folder, port, broker = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
    hass = await start(folder, port)
    await add_broker(hass, broker)
    print(json.dumps(__version__), flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps(await obey(hass, json.loads(line))), flush=True)
    await hass.async_stop(force=True)


asyncio.run(main())
