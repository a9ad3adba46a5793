//! `vertebra models`: what is usable here and now, and which of it would be used.

use std::{path::PathBuf, process::ExitCode};

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use vertebra_bridge::{settings::Settings, shown};
use vertebra_models::found::Finding;

use crate::{
    assembly::{Picked, Places, Settled, Trust, World},
    view::text,
};

/// How many models of one server are shown in a table.
const SHOWN: usize = 8;

/// What to list.
#[derive(clap::Args)]
#[command(after_help = "\
A provider can be used if its key is in the environment, or if it is a server on this machine that answers. Keys are never
shown. `vertebra run` asks the model you name with --model, then the one in your settings, then the first you have a key
for, then the first server that answers.")]
pub(crate) struct Options {
    /// The folder whose settings count
    #[arg(long, short = 'C', value_name = "FOLDER", default_value = ".")]
    dir: PathBuf,
    /// Also those that cannot be used, with the reason
    #[arg(long, short)]
    all: bool,
    /// As JSON, for programs; in a pipe it is JSON anyway
    #[arg(long)]
    json: bool,
}

/// All that was found.
#[derive(Serialize)]
struct Listing {
    /// The model that `run` would take.
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<Chosen>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    providers: Vec<Row>,
    notices: Vec<String>,
}

#[derive(Serialize)]
struct Chosen {
    model: String,
    because: String,
}

/// One provider.
#[derive(Serialize)]
struct Row {
    provider: &'static str,
    label: &'static str,
    usable: bool,
    /// Why it is usable, or why not.
    because: String,
    base_url: String,
    local: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_model: Option<String>,
    /// The models that its server lists, if it was asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    models: Vec<String>,
}

/// Runs the command. It fails if there is nothing to use.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    // Who asks for a list is not asked about trust.
    let world = World { is_interactive: false, ..World::of_process() };
    let Settled { settings, notices, .. } =
        Settled::read(&options.dir, Trust::OnlyRemembered, Settings::default(), &world)?;
    let places = Places::new(&settings.model, &world)?;
    let found = places.look().await;
    let (chosen, problem) = match places.pick(Some(&found)).await {
        Ok(Picked { pick, reason }) => (Some(Chosen { model: pick.to_string(), because: reason }), None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    let providers = found.iter().map(|finding| row(finding, &places)).collect();
    let listing = Listing { chosen, problem, providers, notices };
    if crate::programs::read_it(options.json) {
        crate::programs::print(&listing)?;
    } else {
        show(&mut anstream::stdout().lock(), &listing, options.all)?;
    }
    Ok(if listing.chosen.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn row(finding: &Finding, places: &Places<'_>) -> Row {
    let provider = finding.provider;
    let (because, models) = match &finding.usable {
        Ok(usable) => (&usable.why, usable.models.clone()),
        Err(why) => (why, Vec::new()),
    };
    Row {
        provider: provider.name,
        label: provider.label,
        usable: finding.usable.is_ok(),
        because: places.why(provider, because),
        base_url: finding.base_url.clone(),
        local: provider.local,
        default_model: finding.default_model().map(str::to_owned),
        models,
    }
}

fn show(out: &mut impl std::io::Write, listing: &Listing, all: bool) -> std::io::Result<()> {
    let (dim, bold) = (Style::new().dimmed(), Style::new().bold());
    for notice in &listing.notices {
        writeln!(out, "{dim}{}{dim:#}", text::visible(notice))?;
    }
    let rows = || listing.providers.iter().filter(|row| all || row.usable);
    let width = rows().map(|row| row.provider.len()).max().unwrap_or_default();
    for row in rows() {
        let (mark, colour) = if row.usable { ("✓", AnsiColor::Green) } else { ("✗", AnsiColor::Red) };
        let colour = colour.on_default();
        let because = shown(&row.because);
        writeln!(out, "{colour}{mark}{colour:#} {bold}{:width$}{bold:#}  {because}", row.provider)?;
        let mut names: Vec<String> = row.models.iter().take(SHOWN).map(|name| shown(name)).collect();
        if row.models.len() > SHOWN {
            names.push(format!("and {} more", row.models.len() - SHOWN));
        }
        if row.usable && names.is_empty() {
            names.extend(row.default_model.as_ref().map(|name| format!("{} unless you name another", shown(name))));
        }
        if row.usable && !names.is_empty() {
            writeln!(out, "  {:width$}  {dim}{}{dim:#}", "", names.join(", "))?;
        }
    }
    let hidden = listing.providers.len() - rows().count();
    if hidden > 0 {
        writeln!(out, "{dim}{hidden} others cannot be used here; why not: vertebra models --all{dim:#}")?;
    }
    match (&listing.chosen, &listing.problem) {
        (Some(Chosen { model, because }), _) => {
            writeln!(out, "\nvertebra run would ask {bold}{model}{bold:#}: {}", text::visible(because))
        }
        (None, Some(problem)) => writeln!(out, "\n{}", text::visible(problem)),
        (None, None) => Ok(()),
    }
}
