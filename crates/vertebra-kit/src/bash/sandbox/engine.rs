//! Who makes the namespaces and mounts of a sandbox: the launcher, or bubblewrap in its stead.

use std::path::PathBuf;

use super::super::{environment::Variables, place::Places};

/// Who makes the namespaces and mounts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Engine {
    /// The launcher; bubblewrap, if there is one, where the system gives the launcher none or where the kernel's Landlock
    /// is missing or too old to hold everything.
    #[default]
    Either,
    /// The launcher.
    Own,
    /// Bubblewrap (`bwrap` on the `PATH`). No command runs without it.
    Bubblewrap,
}

/// How a command is held.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By Landlock, seccomp and mounts of the launcher's own. With what the kernel's Landlock does not hold.
    Own { lacking: Vec<String> },
    /// By Landlock and seccomp alone. With why there are no mounts.
    NoMounts { lacking: Vec<String>, why: String },
    /// By bubblewrap and seccomp, and by Landlock where the kernel has it.
    Bubblewrap { program: PathBuf, landlock: bool },
}

/// Why there is no way.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoWay {
    /// This system has nothing to hold commands with.
    Nothing(String),
    /// What was asked for by name is not there.
    NotAsAsked(String),
}

/// What was tried for a command and did not come to run it.
#[derive(Debug, Default)]
pub(in crate::bash) struct Tried {
    /// Why the launcher could not mount.
    pub(super) own: Option<String>,
    /// Why no supervisor could listen.
    pub(super) supervisor: Option<String>,
    /// Why there are no layers.
    pub(super) layers: Option<String>,
    /// Why there is no private network.
    pub(in crate::bash) space: Option<String>,
    /// Why bubblewrap could not begin.
    pub(super) bubblewrap: Option<String>,
    /// Why nobody could see to the end of a command that nothing holds.
    pub(super) attended: Option<String>,
}

impl Engine {
    /// The way that is left. `landlock` is what the kernel's Landlock does not hold, or why there is none.
    pub(super) fn way(
        self,
        landlock: Result<Vec<String>, String>,
        bubblewrap: Option<PathBuf>,
        tried: &Tried,
    ) -> Result<Way, NoWay> {
        let has_landlock = landlock.is_ok();
        let bubblewrap = bubblewrap.filter(|_| tried.bubblewrap.is_none());
        let bubblewrap = bubblewrap.map(|program| Way::Bubblewrap { program, landlock: has_landlock });
        match (self, landlock, tried.own.clone()) {
            (Self::Bubblewrap, ..) => bubblewrap.ok_or_else(|| {
                let why = tried.bubblewrap.as_deref().unwrap_or("there is no `bwrap` on the PATH");
                NoWay::NotAsAsked(format!("`Sandbox::engine` asks for bubblewrap, and {why}"))
            }),
            (Self::Own, Err(why), _) => Err(NoWay::Nothing(why)),
            (Self::Either, Err(why), _) => bubblewrap.ok_or_else(|| {
                let besides = tried.bubblewrap.as_deref().unwrap_or("there is no `bwrap` on the PATH either");
                NoWay::Nothing(format!("{why}, and {besides}"))
            }),
            (Self::Either, Ok(lacking), None) if !lacking.is_empty() => Ok(bubblewrap.unwrap_or(Way::Own { lacking })),
            (Self::Either | Self::Own, Ok(lacking), None) => Ok(Way::Own { lacking }),
            (Self::Either, Ok(lacking), Some(why)) => Ok(bubblewrap.unwrap_or(Way::NoMounts { lacking, why })),
            (Self::Own, Ok(lacking), Some(why)) => Ok(Way::NoMounts { lacking, why }),
        }
    }
}

/// The `bwrap` on the `PATH`. One that commands could have put there is none.
pub(super) fn bubblewrap(variables: &Variables, places: &Places) -> Option<PathBuf> {
    let real = variables.programs("bwrap").filter_map(|program| program.canonicalize().ok());
    real.into_iter().find(|program| !places.writable().any(|folder| program.starts_with(folder)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bubblewrap_takes_over_where_the_launcher_lacks_something() {
        let bwrap = || Some(PathBuf::from("/usr/bin/bwrap"));
        let whole = || Ok(Vec::new());
        let old = || Ok(vec!["signals".to_owned()]);
        let none = || Err("no Landlock".to_owned());
        let refused = || Tried { own: Some("EPERM".to_owned()), ..Tried::default() };
        let all_refused = || Tried { bubblewrap: Some("bwrap: no".to_owned()), ..refused() };
        let by_bubblewrap = |landlock| Ok(Way::Bubblewrap { program: "/usr/bin/bwrap".into(), landlock });
        let no_mounts = || Ok(Way::NoMounts { lacking: Vec::new(), why: "EPERM".to_owned() });
        let cases = [
            (Engine::Either, whole(), bwrap(), Tried::default(), Ok(Way::Own { lacking: Vec::new() })),
            (Engine::Either, whole(), bwrap(), refused(), by_bubblewrap(true)),
            (Engine::Either, whole(), bwrap(), all_refused(), no_mounts()),
            (Engine::Either, whole(), None, refused(), no_mounts()),
            (Engine::Either, old(), bwrap(), Tried::default(), by_bubblewrap(true)),
            (Engine::Either, old(), None, Tried::default(), Ok(Way::Own { lacking: vec!["signals".to_owned()] })),
            (Engine::Either, none(), bwrap(), Tried::default(), by_bubblewrap(false)),
            (
                Engine::Either,
                none(),
                None,
                Tried::default(),
                Err(NoWay::Nothing("no Landlock, and there is no `bwrap` on the PATH either".to_owned())),
            ),
            (
                Engine::Either,
                none(),
                bwrap(),
                all_refused(),
                Err(NoWay::Nothing("no Landlock, and bwrap: no".to_owned())),
            ),
            (Engine::Own, none(), bwrap(), Tried::default(), Err(NoWay::Nothing("no Landlock".to_owned()))),
            (Engine::Own, whole(), bwrap(), refused(), no_mounts()),
            (Engine::Bubblewrap, whole(), bwrap(), Tried::default(), by_bubblewrap(true)),
            (
                Engine::Bubblewrap,
                whole(),
                None,
                Tried::default(),
                Err(NoWay::NotAsAsked(
                    "`Sandbox::engine` asks for bubblewrap, and there is no `bwrap` on the PATH".to_owned(),
                )),
            ),
        ];
        for (engine, landlock, bubblewrap, tried, expected) in cases {
            let shown = format!("{engine:?} {landlock:?} {bubblewrap:?} {tried:?}");
            assert_eq!(engine.way(landlock, bubblewrap, &tried), expected, "{shown}");
        }
    }
}
