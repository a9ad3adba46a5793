//! What the folder brings along, as far as it is trusted.

use std::{io::Write as _, path::PathBuf};

use rustix::termios::{QueueSelector, tcflush};
use vertebra_bridge::{
    settings::Settings,
    shown,
    trust::{Kind, Project, Seals, Standing, Store},
};

use super::World;

/// How much of a project's instructions a model reads.
const MAX_INSTRUCTIONS: usize = 32 * 1024;

/// What counts of what the folder brings.
#[derive(Default)]
pub(crate) struct Brought {
    /// Its settings, the nearest last.
    pub(crate) settings: Vec<Settings>,
    /// Its instructions, each with its origin.
    pub(crate) instructions: Vec<String>,
    /// Its folders of skills.
    pub(crate) skills: Vec<PathBuf>,
    /// Its folders of agents.
    pub(crate) agents: Vec<PathBuf>,
    /// The scripts that its hooks name, as they were trusted.
    pub(crate) seals: Seals,
    /// Its settings of Claude Code: where they are, and what they say.
    pub(super) claude: Vec<(PathBuf, String)>,
    /// Its skills and agents: where they are, and what they say.
    pub(super) front_matter: Vec<(PathBuf, String)>,
    /// What a person should know.
    pub(crate) notices: Vec<String>,
    /// What nobody may overlook: hooks that were to hold and do not.
    pub(crate) warnings: Vec<String>,
}

/// Whether a folder is trusted for one run, whatever is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// As remembered, or as a person says who is asked.
    Remembered,
    /// As remembered, where nothing is run that could be told to trust it once.
    OnlyRemembered,
    /// For this run.
    Once,
}

impl Brought {
    /// Looks at what the folder brings. If somebody is there they are asked about what is new; otherwise it is left out.
    pub(crate) fn look(folder: &std::path::Path, trust: Trust, world: &World) -> anyhow::Result<Self> {
        let project = Project::look(folder)?;
        let store = world.state.as_deref().map(Store::in_folder);
        let (mut notices, mut warnings) = (Vec::new(), Vec::new());
        let standing = match &store {
            _ if trust == Trust::Once => Standing::Trusted,
            Some(store) => store.standing(&project).unwrap_or_else(|error| {
                notices.push(error.to_string());
                Standing::Unknown
            }),
            None if project.files.is_empty() => Standing::Empty,
            None => Standing::Unknown,
        };
        let trusted = match &standing {
            Standing::Empty | Standing::Trusted => true,
            Standing::Unknown | Standing::Changed(_) if world.is_interactive => {
                let mut agreed = agrees(&project, &standing)?;
                // Skills and agents are read again, where they stand: a yes was not about what they say by now.
                if agreed && Project::look(folder)? != project {
                    notices.push("what the folder brings changed while you were asked".to_owned());
                    agreed = false;
                }
                if agreed && !project.can_be_trusted() {
                    notices.push(format!("what cannot be read cannot be trusted: {}", project.problems.join("; ")));
                    agreed = false;
                }
                if let (true, Some(store)) = (agreed, &store)
                    && let Err(error) = store.trust(&project)
                {
                    notices.push(format!("trust holds for this run only: {error}"));
                }
                agreed
            }
            Standing::Unknown | Standing::Changed(_) => false,
        };
        // What a person trusted holds below it, whatever has appeared nearer that nobody trusts.
        let held = store.as_ref().and_then(|store| store.policy(&project.folder).ok());
        let is_other = |held: &&(Project, Standing)| {
            let is_here = project.of(Kind::Settings).any(|file| held.0.of(Kind::Settings).any(|other| other == file));
            held.0.of(Kind::Settings).next().is_some() && !(is_here && held.0.root == project.root)
        };
        let held = held.as_ref().filter(|_| trust != Trust::Once).filter(is_other);
        let (held_settings, held_seals) = match held {
            Some((held, Standing::Trusted)) => {
                notices.push(format!("the policy of {} holds here", shown(&held.folder.to_string_lossy())));
                (held.settings()?.into_iter().map(|sheet| sheet.settings).collect(), Seals::new(held))
            }
            Some((held, standing @ Standing::Changed(_))) => {
                warnings.push(held.left_out(standing));
                (Vec::new(), Seals::default())
            }
            Some((_, Standing::Empty | Standing::Unknown)) | None => (Vec::new(), Seals::default()),
        };
        if !trusted {
            let once = if trust == Trust::Remembered { ". For one run: --trust" } else { "" };
            let left_out = project.left_out(&standing) + once;
            let warns = if project.hooks.is_empty() { &mut notices } else { &mut warnings };
            warns.push(left_out);
            return Ok(Self { settings: held_settings, seals: held_seals, notices, warnings, ..Self::default() });
        }
        notices.extend(project.problems.iter().map(|problem| format!("left out: {problem}")));
        let instructions = project.of(Kind::Instructions).map(|file| {
            let (text, rest) = cut(&file.text, MAX_INSTRUCTIONS);
            let name = shown(&file.name);
            if rest > 0 {
                notices
                    .push(format!("of {name} the model reads the first {MAX_INSTRUCTIONS} bytes; {rest} are left out"));
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
            } else {
                Seals::new(&project)
            },
            settings: {
                let own = project.settings()?.into_iter().map(|sheet| sheet.settings);
                held_settings.into_iter().chain(own).collect()
            },
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

/// Shows what would take effect, and asks. Nothing but a plain yes is one.
pub(crate) fn agrees(project: &Project, standing: &Standing) -> anyhow::Result<bool> {
    show(&mut std::io::stderr().lock(), project, standing)?;
    Ok(agrees_to("Trust this? Without it the agent works by your own settings alone.")?)
}

/// Asks a person at the terminal a question, and answers with whether it was a yes.
pub(crate) fn agrees_to(question: &str) -> std::io::Result<bool> {
    let mut out = std::io::stderr().lock();
    // What was typed before the question was seen is no answer to it.
    let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
    write!(out, "{question} [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes" | "Yes"))
}

/// Shows exactly what would take effect.
pub(crate) fn show(out: &mut impl std::io::Write, project: &Project, standing: &Standing) -> std::io::Result<()> {
    let root = shown(&project.root.to_string_lossy());
    match standing {
        Standing::Empty => writeln!(out, "{root} brings nothing that needs trust.")?,
        Standing::Trusted => writeln!(out, "{root} is trusted. In effect:")?,
        Standing::Unknown => writeln!(out, "{root} brings things that count only if you trust them:")?,
        Standing::Changed(files) => {
            let files: Vec<String> = files.iter().map(|file| shown(file)).collect();
            writeln!(out, "{root} changed since you trusted it ({}). It brings:", files.join(", "))?;
        }
    }
    for line in project.effects() {
        writeln!(out, "  {line}")?;
    }
    for problem in &project.problems {
        writeln!(out, "  left out in any case: {problem}")?;
    }
    Ok(())
}

/// The first bytes of a text, and how many more there are.
fn cut(text: &str, limit: usize) -> (&str, usize) {
    let end = text.floor_char_boundary(limit);
    (&text[..end], text.len() - end)
}
