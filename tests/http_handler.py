"""An HTTP connection handler of an instance, and a client of it."""

import http.client

from pando_server import Pando, free_ports


def with_http(instance: Pando, *settings: str) -> int:
    """Gives the instance an HTTP handler; gives its port."""
    (port,) = free_ports(1)
    changes = [word for it in (f"listen-port:{port}", *settings) for word in ("--set", it)]
    made = ["create-connection-handler", "--handler-name", "HTTP", "--type", "http", *changes, "-n"]
    instance.tool("dsconfig", *made)
    return port


def get(port: int, path: str, headers=None, method="GET") -> tuple[int, dict, str]:
    con = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    con.request(method, path, headers=headers or {})
    answer = con.getresponse()
    text = answer.read().decode()
    con.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, text
