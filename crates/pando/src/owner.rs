//! Who owns an instance. Tools that write must not leave files that the server cannot open.

use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::{fs, io};

use crate::failure::Failure;
use crate::output::errln;

/// Who runs this process, against who owns the instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The same user.
    Same,
    /// Root works on another user's instance: what it makes is given to that user.
    RootFor {
        /// The instance's user.
        user: u32,
        /// The instance's group.
        group: u32,
    },
}

impl Owner {
    /// Compares this process with the owner of `instance`; another user who is not root is refused.
    pub fn of(instance: &Path) -> Result<Self, Failure> {
        let metadata =
            fs::metadata(instance).map_err(|error| Failure::new(format_args!("{}: {error}", instance.display())))?;
        let me = rustix::process::geteuid().as_raw();
        match (me, metadata.uid()) {
            (me, owner) if me == owner => Ok(Owner::Same),
            (0, user) => Ok(Owner::RootFor { user, group: metadata.gid() }),
            (me, owner) => Err(Failure::new(format_args!(
                "{0} belongs to {1}, and you are {2}: run this as {1}, so that the server can open its files",
                instance.display(),
                user_name(owner),
                user_name(me)
            ))),
        }
    }

    /// Refuses root where it would own what a running server makes.
    pub fn must_be_same(self, instance: &Path) -> Result<(), Failure> {
        match self {
            Owner::Same => Ok(()),
            Owner::RootFor { user, .. } => Err(Failure::new(format_args!(
                "{} belongs to {}: start the server as that user, not as root",
                instance.display(),
                user_name(user)
            ))),
        }
    }

    /// Gives everything below `instance` that is not the owner's to the owner, and says so.
    pub fn settle(self, instance: &Path) -> Result<(), Failure> {
        let Owner::RootFor { user, group } = self else { return Ok(()) };
        let mut changed = 0;
        give(instance, user, group, &mut changed)
            .map_err(|error| Failure::new(format_args!("cannot give the files to {}: {error}", user_name(user))))?;
        if changed > 0 {
            errln!("{changed} files made by root now belong to {}, as {} does", user_name(user), instance.display());
        }
        Ok(())
    }
}

fn give(path: &Path, user: u32, group: u32, changed: &mut u64) -> io::Result<()> {
    let metadata = fs::symlink_metadata(path)?;
    if metadata.is_symlink() {
        return Ok(());
    }
    if metadata.uid() != user {
        chown(path, Some(user), Some(group))?;
        *changed += 1;
    }
    if metadata.is_dir() {
        for entry in fs::read_dir(path)? {
            give(&entry?.path(), user, group, changed)?;
        }
    }
    Ok(())
}

/// A user's name from the system's list, or the number.
fn user_name(id: u32) -> String {
    let list = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = list.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse::<u32>().ok()? == id).then(|| name.to_owned())
    });
    name.map_or_else(|| format!("user {id}"), |name| format!("{name} (user {id})"))
}
