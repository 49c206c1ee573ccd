"""dsconfig at a terminal: it asks for what is missing, changes nothing before the end, and shows the equal command."""

import pytest
from terminal import Terminal

MENU = "What do you want to configure?"
ROTATION = "Log Rotation Policy management menu"


def dsconfig(instance, *words):
    return Terminal(instance.dir, "dsconfig", "--instance", str(instance.dir), *words, columns=100)


def said(instance, *words):
    return instance.tool("dsconfig", *words).stdout


def test_an_object_comes_changes_and_goes_by_answers(fresh):
    before = fresh.config.read_text()
    commands = fresh.dir / "commands"
    tool = dsconfig(fresh, "--displayCommand", "--commandFilePath", str(commands))
    tool.until(MENU)
    tool.choose("Log Rotation Policy")
    tool.until(ROTATION)
    tool.choose("Create a new Log Rotation Policy")
    tool.until("Select the type")
    tool.choose("size-limit")
    tool.until("Enter a name for the Log Rotation Policy").until(": ").answer("\n")
    tool.until("needs a name").until(": ").answer("Small files\n")
    # What must be set is asked for, until it is valid.
    tool.until('Configuring the "file-size-limit" property').until("Syntax:  a size such as")
    tool.until('Enter a value for the "file-size-limit" property: ').answer("5 parsecs\n")
    tool.until('The value "5 parsecs" is not valid').until("property: ").answer("5 mb\n")
    tool.until('Configure the properties of the Log Rotation Policy "Small files"')
    assert fresh.config.read_text() == before, "nothing is changed before the end"
    tool.until("finish - create the new Log Rotation Policy").until("Enter choice [f]: ").answer("\n")
    tool.until('The Log Rotation Policy "Small files" was created.')
    tool.until("The equivalent non-interactive command-line is:\npando dsconfig create-log-rotation-policy \\\n")
    tool.until("--policy-name 'Small files'").until("--type size-limit").until("--set 'file-size-limit:5 mb'")
    tool.until("--no-prompt").until("Press RETURN").answer("\n")
    tool.until(ROTATION)
    tool.choose("View and edit an existing Log Rotation Policy")
    tool.until("Select the Log Rotation Policy")
    tool.choose("Small files")
    tool.until("Configure the properties")
    tool.choose("file-size-limit")
    tool.until("Keep the value: 5 mb")
    tool.choose("Change the value")
    tool.until("property: ").answer("6 mb\n")
    tool.until("finish - apply any changes").until("[f]: ").answer("f\n")
    tool.until("has changed.").until("--set 'file-size-limit:6 mb'").until("RETURN").answer("\n")
    tool.until(ROTATION).until("[b]: ").answer("q\n")
    assert tool.status() == 0
    shown = said(fresh, "get-log-rotation-policy-prop", "--policy-name", "Small files", "-s")
    assert shown == "file-size-limit\t6 mb\n"
    # The file has the commands, and a batch can do them again.
    said(fresh, "delete-log-rotation-policy", "--policy-name", "Small files")
    assert fresh.config.read_text().rstrip() == before.rstrip()
    said(fresh, "-F", str(commands))
    assert said(fresh, "get-log-rotation-policy-prop", "--policy-name", "Small files", "-s") == shown


def test_what_a_command_lacks_is_asked_for(fresh):
    tool = dsconfig(fresh, "set-backend-index-prop", "--index-name", "cn", "--displayCommand")
    tool.until('There is only one Backend: "userRoot".').until("(yes / no) [yes]: ").answer("maybe\n")
    tool.until('Please enter "yes" or "no"').until("[yes]: ").answer("\n")
    tool.choose("index-type")
    tool.choose("Add one or more values")
    tool.choose("presence")
    # A property of several values is asked about again.
    tool.until("Use the value: equality, substring, presence").until("[1]: ").answer("\n")
    tool.until("[f]: ").answer("\n")
    tool.until('The Backend Index "cn" has changed.')
    tool.until("--backend-name userRoot").until("--add index-type:presence")
    assert tool.status() == 0
    assert said(fresh, "get-backend-index-prop", "--backend-name", "userRoot", "--index-name", "cn", "-s").endswith(
        "index-type\tequality\tsubstring\tpresence\nsubstring-length\t6\n"
    )


@pytest.mark.parametrize("end, status", [("c\n", 1), ("q\n", 1), ("\x04", 1)])
def test_leaving_changes_nothing(server, end, status):
    before = server.config.read_text()
    tool = dsconfig(server, "set-global-configuration-prop")
    tool.choose("check-schema")
    tool.choose("Change it to the value: false")
    tool.until("[f]: ").answer(end)
    assert tool.status() == status
    assert server.config.read_text() == before


def test_what_is_refused_can_be_mended(fresh):
    tool = dsconfig(fresh, "create-plugin", "--plugin-name", "Unique", "--type", "unique-attribute")
    tool.until('Enter a value for the "attribute-type" property (RETURN to end): ').answer("noSuchType\n")
    tool.until("to end): ").answer("\n")
    tool.until("[f]: ").answer("f\n")
    tool.until('the schema has no attribute type "noSuchType"').until("RETURN").answer("\n")
    tool.choose("attribute-type")
    tool.choose("Remove one or more values")
    tool.choose("noSuchType")
    tool.choose("Add one or more values")
    tool.until("to end): ").answer("mail\n").until("to end): ").answer("\n")
    tool.until("[1]: ").answer("\n")
    tool.until("[f]: ").answer("f\n").until('The Plugin "Unique" was created.')
    assert tool.status() == 0
    assert "attribute-type\tmail\n" in said(fresh, "get-plugin-prop", "--plugin-name", "Unique", "-s")


def test_no_one_is_asked_with_no_prompt(server):
    tool = dsconfig(server, "--no-prompt")
    tool.until("say what to do with a subcommand")
    assert tool.status() == 2
    tool = dsconfig(server, "set-backend-prop", "-n")
    tool.until("--backend-name NAME is missing")
    assert tool.status() == 1
