"""Small instances as earlier versions left them, kept in data/instances: later versions must open each of them.

    PANDO=an-old-binary python3 upgrade_fixture.py NAME stopped|killed

makes data/instances/NAME.tar.xz with what that version leaves when it is stopped, or killed with changes that are in
the log only; and NAME.ldif, what that version exports of it. To be called for the landed version before its format or
its rules change.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pando_server import BASE, ROOT_DN, ROOT_PW, Pando, binary

FIXTURES = Path(__file__).resolve().parent / "data" / "instances"
PEOPLE = 40

CHANGES = f"""\
dn: cn=Gardeners,ou=Groups,{BASE}
changetype: add
objectClass: groupOfNames
member: uid=user.1,ou=People,{BASE}
member: uid=user.2,ou=People,{BASE}

dn: uid=user.1,ou=People,{BASE}
changetype: modify
replace: description
description: changed before the upgrade
-
add: telephoneNumber
telephoneNumber: +1 555 0100
-

dn: uid=user.3,ou=People,{BASE}
changetype: delete

dn: uid=user.4,ou=People,{BASE}
changetype: moddn
newrdn: uid=renamed
deleteoldrdn: 1

dn: uid=user.5,ou=People,{BASE}
changetype: modify
replace: userPassword
userPassword: grows-in-april
-
"""


def change(instance: Pando, ldif: str) -> None:
    command = ["ldapmodify", "-x", "-H", instance.url, "-D", ROOT_DN, "-w", ROOT_PW]
    subprocess.run(command, input=ldif, text=True, check=True, capture_output=True)


def fail_a_bind(instance: Pando) -> None:
    """A failure that is counted."""
    user = f"uid=user.6,ou=People,{BASE}"
    subprocess.run(["ldapwhoami", "-x", "-H", instance.url, "-D", user, "-w", "wrong"], capture_output=True)


def make(name: str, ending: str) -> None:
    place = Path(tempfile.mkdtemp())
    instance = Pando(place / "inst")
    instance.setup("--sampleData", PEOPLE)
    policy = [
        "set-password-policy-prop",
        "--policy-name",
        "Default Password Policy",
        "--set",
        "lockout-failure-count:3",
    ]
    instance.tool("dsconfig", *policy, "--no-prompt")
    instance.start()
    change(instance, CHANGES)
    fail_a_bind(instance)
    FIXTURES.mkdir(exist_ok=True)
    if ending == "killed":
        instance.kill()
    else:
        assert instance.stop() == 0
    # As it was left: what exports it may write to it.
    archive = [
        "tar",
        "--create",
        "--sparse",
        "--xz",
        "--directory",
        place,
        "--exclude=*.sock",
        "--exclude=ldapi",
        "inst",
    ]
    (FIXTURES / f"{name}.tar.xz").write_bytes(subprocess.run(archive, check=True, capture_output=True).stdout)
    if ending == "killed":
        instance.start()
        assert instance.stop() == 0
    instance.tool("export-ldif", "--backendID", "userRoot", "--ldifFile", FIXTURES / f"{name}.ldif", "--offline")
    shutil.rmtree(place)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in ("stopped", "killed"):
        sys.exit(__doc__)
    print(f"{binary()} makes {sys.argv[1]}")
    make(*sys.argv[1:])
