//! What is measured, and how its binary comes to be.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use serde::Deserialize;

use super::targets::Part;
use crate::stage::Stage;

/// The name of our own suite in its lines.
pub(crate) const VERTEBRA: &str = "vertebra";

/// Somebody Vertebra is measured against: see `bench/peers/README.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Peer {
    A3s,
    Rig,
    Tower,
    TowerBoxed,
    PlainRegistry,
}

impl Peer {
    /// The name of its suite in its lines.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::A3s => "a3s",
            Self::Rig => "rig",
            Self::Tower => "tower",
            Self::TowerBoxed => "tower-boxed",
            Self::PlainRegistry => "plain-registry",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Self::A3s => "peer-a3s",
            Self::Rig => "peer-rig",
            Self::Tower | Self::TowerBoxed | Self::PlainRegistry => "peer-lower-bounds",
        }
    }

    fn threads(self) -> Threads {
        match self {
            Self::A3s => Threads::Several,
            Self::Rig | Self::Tower | Self::TowerBoxed | Self::PlainRegistry => Threads::One,
        }
    }
}

/// Whether a count of instructions means something: who waits for another thread is a different program every time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    One,
    Several,
}

/// A suite ready to be run.
pub(crate) struct Binary {
    pub(crate) name: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) threads: Threads,
}

/// Builds Vertebra's suite and those of the peers, Vertebra's first. A peer that does not build is left out, and a note
/// says so.
pub(crate) fn build(peers: &[Peer], parts: &[Part], notes: &mut Vec<String>) -> anyhow::Result<Vec<Binary>> {
    let mut binaries = vec![if parts.contains(&Part::Outside) { own(&[])? } else { build_core()? }];
    for package in packages(peers) {
        let built = executables("bench/peers/Cargo.toml", package, &[]).unwrap_or_else(|error| {
            eprintln!("{package}: {error}");
            vec![]
        });
        for peer in peers.iter().filter(|peer| peer.package() == package) {
            match find(&built, &format!("peer-{}", peer.name())) {
                Some(path) => binaries.push(Binary { name: peer.name(), path, threads: peer.threads() }),
                None => notes.push(format!("{} did not build and was left out", peer.name())),
            }
        }
    }
    Ok(binaries)
}

/// Builds the part of Vertebra's suite that needs only `vertebra` and `vertebra-hooks`.
pub(crate) fn build_core() -> anyhow::Result<Binary> {
    own(&["--no-default-features"])
}

fn own(options: &[&str]) -> anyhow::Result<Binary> {
    let built = executables("Cargo.toml", "vertebra-bench", options).context("Vertebra's own suite is needed")?;
    let path = find(&built, "vertebra-bench").context("cargo built no vertebra-bench")?;
    Ok(Binary { name: VERTEBRA, path, threads: Threads::One })
}

/// Each package once. They are built one at a time, because a common build would unite the features of their
/// dependencies, and each peer would be measured with what another one asked for.
fn packages(peers: &[Peer]) -> Vec<&'static str> {
    let mut packages = vec![];
    for peer in peers {
        if !packages.contains(&peer.package()) {
            packages.push(peer.package());
        }
    }
    packages
}

/// What cargo says about a thing it built.
#[derive(Deserialize)]
struct Artifact {
    target: Named,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

fn find(built: &[Artifact], name: &str) -> Option<PathBuf> {
    built.iter().find(|artifact| artifact.target.name == name)?.executable.clone()
}

/// Asks cargo where it put the binaries: it may have been told of another target folder in several ways.
fn executables(manifest: &str, package: &str, options: &[&str]) -> anyhow::Result<Vec<Artifact>> {
    let stage = Stage::new("build", "cargo build --locked --profile dist --message-format json-render-diagnostics")
        .args(["--manifest-path", manifest, "--package", package])
        .args(options);
    eprintln!("building {package}");
    let mut cargo = stage.command().stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
    let messages = BufReader::new(cargo.stdout.take().context("cargo's output is a pipe")?);
    let mut built = vec![];
    for message in messages.lines() {
        built.extend(artifact(&message?));
    }
    if !cargo.wait()?.success() {
        bail!("does not build; to see it alone: {stage}");
    }
    Ok(built)
}

fn artifact(message: &str) -> Option<Artifact> {
    let artifact: Artifact = serde_json::from_str(message).ok()?;
    artifact.executable.is_some().then_some(artifact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_is_found_where_cargo_says_it_is() {
        let messages = [
            r#"{"reason":"compiler-artifact","target":{"name":"lower_bounds"},"executable":null}"#,
            r#"{"reason":"compiler-artifact","target":{"name":"peer-tower"},"executable":"/far/peer-tower"}"#,
            r#"{"reason":"build-finished","success":true}"#,
        ];
        let built: Vec<_> = messages.into_iter().filter_map(artifact).collect();

        assert_eq!(find(&built, "peer-tower"), Some("/far/peer-tower".into()));
        assert_eq!(find(&built, "peer-rig"), None);
    }

    #[test]
    fn peers_of_one_package_are_built_once() {
        assert_eq!(packages(Peer::value_variants()), ["peer-a3s", "peer-rig", "peer-lower-bounds"]);
        assert_eq!(packages(&[Peer::Tower, Peer::Rig, Peer::TowerBoxed]), ["peer-lower-bounds", "peer-rig"]);
    }
}
