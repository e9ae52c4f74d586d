"""Joins a room with the package websockets and prints what it hears, a line of JSON each.

usage: python3 fastapi_hear.py PORT ROOM
"""

import asyncio
import json
import sys
import time

from websockets.asyncio.client import connect


async def hear(port: str, room: str):
    async with connect(f"ws://127.0.0.1:{port}/rooms/{room}") as server:
        # Its first message says that we have joined.
        print(json.dumps({"said": await server.recv()}), flush=True)
        async for message in server:
            print(json.dumps({"message": message, "at_us": time.monotonic_ns() // 1000}), flush=True)


asyncio.run(hear(*sys.argv[1:]))
