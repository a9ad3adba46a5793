//! One run of one probe: a new folder, a user, and what was seen.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::Context as _;

use super::{
    as_user,
    probe::{FOLDER, Probe},
};

/// How long a probe may take.
const SECONDS: &str = "90";

/// An ordinary user. It needs no entry in the list of users.
const ORDINARY: u32 = 1000;

/// Who runs a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum User {
    Root,
    Other(u32),
    /// Whoever runs this, where only one user can be had.
    Current,
}

impl User {
    /// How many users there are where all can be had.
    pub(super) const BOTH: usize = 2;

    /// Root and an ordinary user, or only the current one: nobody but root can become another.
    pub(super) fn all() -> Vec<Self> {
        if rustix::process::geteuid().is_root() { vec![Self::Root, Self::Other(ORDINARY)] } else { vec![Self::Current] }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Other(_) => "user",
            Self::Current => "current user",
        }
    }
}

/// What came of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seen {
    Held,
    Broken,
    /// The probe needs something that is not there.
    Ignored(String),
    /// The probe did not come to its end; what it printed.
    Failed(String),
}

impl Seen {
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Broken => "broken",
            Self::Ignored(_) => "ignored",
            Self::Failed(_) => "failed",
        }
    }
}

/// The program under attack, in a place where every user can start it.
pub(super) struct Program {
    folder: PathBuf,
}

impl Program {
    pub(super) fn copy(program: &Path) -> anyhow::Result<Self> {
        let folder = std::env::temp_dir().join(format!("vertebra-attack-{}", std::process::id()));
        let bin = folder.join("bin");
        fs::create_dir_all(&bin).with_context(|| format!("cannot make {}", bin.display()))?;
        fs::copy(program, bin.join("vertebra")).with_context(|| format!("cannot copy {}", program.display()))?;
        // Of another user's clone, too.
        for name in fs::read_dir(FOLDER)?.flatten() {
            fs::copy(name.path(), folder.join(name.file_name()))?;
        }
        Ok(Self { folder })
    }

    /// Runs a probe in a new folder.
    pub(super) fn attack(&self, probe: &Probe, user: User, control: bool) -> anyhow::Result<Seen> {
        let name = if control { "control" } else { user.name() };
        let root = self.folder.join(format!("{}-{name}", probe.name));
        fs::create_dir(&root).with_context(|| format!("cannot make {}", root.display()))?;
        fs::set_permissions(&root, Permissions::from_mode(0o755))?;
        if let User::Other(id) = user {
            chown(&root, Some(id), Some(id))?;
        }
        let file = probe.file.file_name().context("a file has a name")?;
        let script = format!(
            "source {0}/prelude.sh && source {0}/{1} && {2}",
            self.folder.display(),
            file.display(),
            probe.name
        );
        let mut command = as_user(user, "timeout");
        command.args(["--signal=KILL", SECONDS, "bash", "-c", &script]).current_dir(&root);
        command.env_clear().env("ROOT", &root).env("LANG", "C.UTF-8");
        command.env("PATH", format!("{}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", self.folder.display()));
        if control {
            command.env("ATTACK_CONTROL", "1");
        }
        let seen = seen(&mut command)?;
        remove(&root);
        Ok(seen)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}

/// A probe may have left folders that only root can remove, or none can.
fn remove(folder: &Path) {
    let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(folder).stderr(Stdio::null()).status();
    let _ = fs::remove_dir_all(folder);
}

/// The last line of a probe is its answer.
#[expect(clippy::disallowed_methods, reason = "`timeout` ends the probe, and its output goes to files")]
fn seen(command: &mut Command) -> anyhow::Result<Seen> {
    let output = command.output().context("cannot start the probe")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = text.lines().last().unwrap_or_default();
    Ok(match last.split_once(": ").unwrap_or((last, "")) {
        ("HELD", _) => Seen::Held,
        ("BROKEN", _) => Seen::Broken,
        ("IGNORED", why) => Seen::Ignored(why.to_owned()),
        _ => Seen::Failed(format!("{text}\n{}\n{}", String::from_utf8_lossy(&output.stderr), output.status)),
    })
}
