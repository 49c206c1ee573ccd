"""GNU SASL's library as a client: what it sends for a mechanism, step by step.

Knows no LDAP: what the server answers is given.
"""

import base64
import ctypes
import ctypes.util

OK, NEEDS_MORE = 0, 1
# Numbers of `Gsasl_property` in gsasl.h.
PROPERTIES = {"authid": 1, "authzid": 2, "password": 3, "service": 5, "hostname": 6, "tls-exporter": 25}


def library() -> ctypes.CDLL:
    name = ctypes.util.find_library("gsasl") or "libgsasl.so.18"
    loaded = ctypes.CDLL(name)
    loaded.gsasl_strerror.restype = ctypes.c_char_p
    loaded.gsasl_step.argtypes = [
        *(ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t),
        *(ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t)),
    ]
    loaded.gsasl_free.argtypes = [ctypes.c_void_p]
    return loaded


class GnuSasl:
    """One exchange of a client. Without the binding of a connection the mechanism has to do without."""

    def __init__(self, mechanism: str, binding: bytes | None = None, **properties: str):
        self.library = library()
        self.context, self.session = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.library.gsasl_init(ctypes.byref(self.context)))
        start = self.library.gsasl_client_start
        self.check(start(self.context, mechanism.encode(), ctypes.byref(self.session)))
        if binding is not None:
            properties["tls-exporter"] = base64.b64encode(binding).decode()
        for name, value in properties.items():
            number = PROPERTIES[name]
            self.check(self.library.gsasl_property_set(self.session, number, value.encode()))

    def check(self, code: int) -> int:
        if code not in (OK, NEEDS_MORE):
            raise AssertionError(f"gsasl: {self.library.gsasl_strerror(code).decode()}")
        return code

    def step(self, received: bytes) -> tuple[bytes, bool]:
        """What to send next, and whether the client has heard all it wants."""
        sent, size = ctypes.c_void_p(), ctypes.c_size_t()
        step = self.library.gsasl_step
        code = step(self.session, received, len(received), ctypes.byref(sent), ctypes.byref(size))
        self.check(code)
        message = ctypes.string_at(sent, size.value)
        self.library.gsasl_free(sent)
        return message, code == OK

    def close(self) -> None:
        self.library.gsasl_finish(self.session)
        self.library.gsasl_done(self.context)
