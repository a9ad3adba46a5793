//! The configuration of a project folder, if it is trusted.

use std::{io::Write as _, path::PathBuf};

use rustix::termios::{QueueSelector, tcflush};
use vertebra_bridge::{
    settings::Settings,
    shown,
    trust::{Kind, Project, Remains, Seals, Standing, Store},
};

use super::World;

/// How many bytes of a project's instruction file the model reads.
const MAX_INSTRUCTIONS: usize = 32 * 1024;

/// The configuration from the folder that applies.
#[derive(Default)]
pub(crate) struct Brought {
    /// Its settings, the most specific last.
    pub(crate) settings: Vec<Settings>,
    /// Its instructions, each with its origin.
    pub(crate) instructions: Vec<String>,
    /// Its skill folders.
    pub(crate) skills: Vec<PathBuf>,
    /// Its agent folders.
    pub(crate) agents: Vec<PathBuf>,
    /// The trusted versions of the scripts that its hooks run.
    pub(crate) seals: Seals,
    /// Its Claude Code settings: path and text.
    pub(super) claude: Vec<(PathBuf, String)>,
    /// Its skills and agents: path and text.
    pub(super) front_matter: Vec<(PathBuf, String)>,
    /// Notices for the user.
    pub(crate) notices: Vec<String>,
    /// Warnings: hooks that are configured and not in force.
    pub(crate) warnings: Vec<String>,
    /// Why the policy is not whole, if it is not. Calls that may change something then need approval.
    pub(crate) missing: Option<String>,
}

/// How trust in a folder is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// By the recorded trust, or by asking the user.
    Remembered,
    /// By the recorded trust alone.
    OnlyRemembered,
    /// Trusted for this run.
    Once,
}

impl Brought {
    /// Reads the configuration of the folder. Asks the user about what is new; without a terminal, leaves it out.
    pub(crate) fn look(folder: &std::path::Path, trust: Trust, world: &World) -> anyhow::Result<Self> {
        let project = Project::look(folder)?;
        let store = world.store();
        let (mut notices, mut warnings, mut missing) = (Vec::new(), Vec::new(), None);
        let standing = match &store {
            _ if trust == Trust::Once => Standing::Trusted,
            Some(store) => store.standing(&project).unwrap_or_else(|error| {
                missing = Some(format!("cannot read which folders are trusted: {error}"));
                Standing::Unknown
            }),
            None if project.files.is_empty() => Standing::Empty,
            None => Standing::Unknown,
        };
        let trusted = match &standing {
            Standing::Empty | Standing::Trusted => true,
            Standing::Unknown | Standing::Changed(_) if world.is_interactive => {
                asked(&project, &standing, store.as_ref(), &mut notices)?
            }
            Standing::Unknown | Standing::Changed(_) => false,
        };
        // A trusted policy also applies in folders below it, even if a nearer, untrusted one exists.
        let held = store.as_ref().and_then(|store| store.policy(&project.folder).ok());
        let is_other = |held: &&(Project, Standing)| {
            let is_here = project.of(Kind::Settings).any(|file| held.0.of(Kind::Settings).any(|other| other == file));
            held.0.of(Kind::Settings).next().is_some() && !(is_here && held.0.root == project.root)
        };
        let held = held.as_ref().filter(|_| trust != Trust::Once).filter(is_other);
        let held = held.map(|(held, standing)| {
            if *standing == Standing::Trusted {
                notices.push(format!("the policy of {} applies here", shown(&held.folder.to_string_lossy())));
            }
            Remains::of(held, standing, store.as_ref())
        });
        let Remains { settings: held_settings, seals: held_seals, missing: held_missing, .. } =
            held.unwrap_or_default();
        if let Some(why) = held_missing.filter(|_| missing.is_none()) {
            missing = Some(why);
        }
        if !trusted {
            let once = if trust == Trust::Remembered { ". Use --trust to trust it for one run" } else { "" };
            let left_out = project.left_out(&standing) + once;
            let remains = Remains::of(&project, &standing, store.as_ref());
            let is_lost = remains.missing.is_some() || missing.is_some();
            let warns = if project.hooks.is_empty() && !is_lost { &mut notices } else { &mut warnings };
            warns.push(left_out);
            warns.extend(missing.clone());
            let seals = if remains.settings.is_empty() { held_seals } else { remains.seals };
            return Ok(Self {
                settings: held_settings.into_iter().chain(remains.settings).collect(),
                seals,
                claude: remains.claude,
                notices,
                warnings,
                missing: remains.missing.or(missing),
                ..Self::default()
            });
        }
        let Remains { settings: own, seals: own_seals, missing: own_missing, .. } =
            Remains::of(&project, &Standing::Trusted, store.as_ref());
        let missing = own_missing.or(missing);
        warnings.extend(missing.clone());
        notices.extend(project.problems.iter().map(|problem| format!("ignored: {problem}")));
        let instructions = project.of(Kind::Instructions).map(|file| {
            let (text, rest) = cut(&file.text, MAX_INSTRUCTIONS);
            let name = shown(&file.name);
            if rest > 0 {
                notices.push(format!(
                    "{name} is too long: the model reads the first {MAX_INSTRUCTIONS} bytes and not the other {rest}"
                ));
            }
            format!("# Instructions of the project, from {name}\n\n{text}")
        });
        let instructions = instructions.collect();
        let texts =
            |kind| project.of(kind).map(|file| (project.root.join(&file.name), file.text.clone())).collect::<Vec<_>>();
        let (claude, front_matter) = (texts(Kind::Claude), [texts(Kind::Skill), texts(Kind::Agent)].concat());
        Ok(Self {
            seals: if project.hooks.is_empty() && !held_settings.is_empty() {
                held_seals
            } else if trust == Trust::Once {
                own_seals.without_open()
            } else {
                own_seals
            },
            settings: held_settings.into_iter().chain(own).collect(),
            missing,
            instructions,
            skills: project.skills,
            agents: project.agents,
            claude,
            front_matter,
            notices,
            warnings,
        })
    }
}

/// Asks the user whether they trust a project, and records a yes.
fn asked(
    project: &Project,
    standing: &Standing,
    store: Option<&Store>,
    notices: &mut Vec<String>,
) -> anyhow::Result<bool> {
    if !agrees(project, standing)? {
        return Ok(false);
    }
    // Skills and agents are read again later, so the answer must be about their current text.
    if Project::look(&project.folder)? != *project {
        notices.push("not trusted: files in the folder changed while you were asked".to_owned());
        return Ok(false);
    }
    if !project.can_be_trusted() {
        let problems = project.problems.join("; ");
        notices.push(format!("not trusted: {problems}. To see what to do, run: vertebra trust"));
        return Ok(false);
    }
    if project.hooks.iter().any(|hook| !hook.open.is_empty()) {
        let why = "not trusted, because a hook trusts whatever its tool loads. To accept that, run: vertebra trust --accept-open";
        notices.push(why.to_owned());
        return Ok(false);
    }
    if let Some(Err(error)) = store.map(|store| store.trust(project)) {
        notices.push(format!("trusted for this run only, because trust cannot be saved: {error}"));
    }
    Ok(true)
}

/// Shows what would take effect and asks the user. Only an explicit yes counts.
pub(crate) fn agrees(project: &Project, standing: &Standing) -> anyhow::Result<bool> {
    show(&mut std::io::stderr().lock(), project, standing)?;
    Ok(agrees_to("Trust this folder? If not, only your own settings apply.")?)
}

/// Asks a yes-or-no question on the terminal and returns whether the answer is yes.
pub(crate) fn agrees_to(question: &str) -> std::io::Result<bool> {
    let mut out = std::io::stderr().lock();
    // Discard what was typed before the question appeared.
    let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
    write!(out, "{question} [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes" | "Yes"))
}

/// Shows what would take effect.
pub(crate) fn show(out: &mut impl std::io::Write, project: &Project, standing: &Standing) -> std::io::Result<()> {
    let root = shown(&project.root.to_string_lossy());
    match standing {
        Standing::Empty => writeln!(out, "{root} has no configuration that needs trust.")?,
        Standing::Trusted => writeln!(out, "{root} is trusted. This is in effect:")?,
        Standing::Unknown => writeln!(out, "{root} has configuration that takes effect only if you trust it:")?,
        Standing::Changed(files) => {
            let files: Vec<String> = files.iter().map(|file| shown(file)).collect();
            writeln!(out, "{root} has changed since you trusted it ({}). It now contains:", files.join(", "))?;
        }
    }
    for line in project.effects() {
        writeln!(out, "  {line}")?;
    }
    for problem in &project.problems {
        writeln!(out, "  ignored in any case: {problem}")?;
    }
    Ok(())
}

/// Returns the start of a text and the number of bytes after it.
fn cut(text: &str, limit: usize) -> (&str, usize) {
    let end = text.floor_char_boundary(limit);
    (&text[..end], text.len() - end)
}
