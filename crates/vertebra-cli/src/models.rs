//! `vertebra models`: the providers that can be used, and the model that `vertebra run` would choose.

use std::{path::PathBuf, process::ExitCode};

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use vertebra_bridge::{settings::Settings, shown};
use vertebra_models::found::Finding;

use crate::{
    assembly::{Picked, Places, Settled, Trust, World},
    view::text,
};

/// The most models of one server that the table shows.
const SHOWN: usize = 8;

/// The options of `vertebra models`.
#[derive(clap::Args)]
#[command(after_help = "\
A provider can be used if its key is set in the environment. A local server can
be used if it answers. Keys are never shown. `vertebra run` chooses, in this order:
the model that --model names, the model in your settings, the first provider with
a key, the first local server that answers.")]
pub(crate) struct Options {
    /// Use the settings of this folder
    #[arg(long, short = 'C', value_name = "FOLDER", default_value = ".")]
    dir: PathBuf,
    /// List all providers, with the reason if one cannot be used
    #[arg(long, short)]
    all: bool,
    /// Print JSON (the default in a pipe)
    #[arg(long)]
    json: bool,
}

/// The whole answer.
#[derive(Serialize)]
struct Listing {
    /// The model that `vertebra run` would use.
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<Chosen>,
    /// The reason why there is none, and what to do.
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
    /// The reason why it can or cannot be used.
    because: String,
    base_url: String,
    local: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_model: Option<String>,
    /// The models that the server lists, if it was asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    models: Vec<String>,
}

/// Runs the command. It fails if no model is available.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    // A command that only lists does not ask about trust.
    let world = World { is_interactive: false, ..World::of_process() };
    let Settled { settings, notices, warnings, .. } =
        Settled::read(&options.dir, Trust::OnlyRemembered, Settings::default(), &world)?;
    let places = Places::new(&settings.model, &world)?;
    let found = places.look().await;
    let (chosen, problem) = match places.pick(Some(&found)).await {
        Ok(Picked { pick, reason }) => (Some(Chosen { model: pick.to_string(), because: reason }), None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    let providers = found.iter().map(|finding| row(finding, &places)).collect();
    let listing = Listing { chosen, problem, providers, notices: [warnings, notices].concat() };
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
            names.extend(row.default_model.as_ref().map(|name| format!("default model: {}", shown(name))));
        }
        if row.usable && !names.is_empty() {
            writeln!(out, "  {:width$}  {dim}{}{dim:#}", "", names.join(", "))?;
        }
    }
    if rows().next().is_some() {
        writeln!(out)?;
    }
    match (&listing.chosen, &listing.problem) {
        (Some(Chosen { model, because }), _) => {
            writeln!(out, "`vertebra run` would use {bold}{model}{bold:#} ({})", text::visible(because))?;
        }
        (None, Some(problem)) => writeln!(out, "{}", text::visible(problem))?,
        (None, None) => {}
    }
    if listing.providers.len() > rows().count() {
        let what = "List all providers, and what each one needs: vertebra models --all";
        writeln!(out, "{dim}{what}{dim:#}")?;
    }
    Ok(())
}
