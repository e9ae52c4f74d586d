"""FastAPI with uvicorn: /rooms/{room} is a room of WebSocket clients, and POST /rooms/{room} sends its body to them.

Listens at a free port and prints it as JSON.
"""

import asyncio
import json
import socket
from collections import defaultdict

import uvicorn
from fastapi import FastAPI, Request, WebSocket, WebSocketDisconnect

app = FastAPI()
rooms: dict[str, set[WebSocket]] = defaultdict(set)


@app.websocket("/rooms/{room}")
async def join(client: WebSocket, room: str):
    await client.accept()
    rooms[room].add(client)
    await client.send_json({"joined": room})
    try:
        while True:
            await client.receive_text()
    except WebSocketDisconnect:
        pass
    finally:
        rooms[room].discard(client)


@app.post("/rooms/{room}")
async def publish(room: str, request: Request):
    text = (await request.body()).decode()
    clients = list(rooms[room])
    # A client that has left is no reason not to send to the others.
    await asyncio.gather(*(client.send_text(text) for client in clients), return_exceptions=True)
    return {"clients": len(clients)}


class Server(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        print(json.dumps({"port": sockets[0].getsockname()[1]}), flush=True)


listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)).run([listener])
