//! Explains to a person what was asked, decided and answered.

use std::io::{self, Write};

use vertebra_bridge::{
    host::{HostAnswer, HostEvent},
    shown,
    wire::Judgement,
};

use super::levels::InForce;

pub(super) fn show(
    out: &mut impl Write,
    event: &HostEvent,
    judgement: &Judgement,
    in_force: &InForce,
    answer: &HostAnswer,
) -> io::Result<()> {
    let HostEvent { host, moment, happened, .. } = event;
    writeln!(out, "agent        {}", host.title)?;
    writeln!(out, "event        {} ({})", moment.name, happened.point)?;
    if let Some(tool) = happened.event["tool"].as_str().filter(|tool| !tool.is_empty()) {
        let own = event.tool.as_deref().filter(|own| *own != tool).map(|own| format!(" ({})", shown(own)));
        writeln!(out, "tool         {}{}", shown(tool), own.unwrap_or_default())?;
    }
    writeln!(out, "folder       {}", shown(&in_force.folder.to_string_lossy()))?;
    let decision = judgement.decision.map(|decision| format!("{decision:?}").to_lowercase());
    writeln!(out, "decision     {}", decision.as_deref().unwrap_or(if judgement.goes_on { "none" } else { "stop" }))?;
    for (what, text) in [("decided by", &judgement.decided_by), ("reason", &judgement.reason)] {
        if let Some(text) = text {
            writeln!(out, "{what:<12} {}", shown(text))?;
        }
    }
    if let Some(args) = &judgement.tool_input {
        writeln!(out, "rewritten to {}", shown(&args.to_string()))?;
    }
    for text in &judgement.model_context {
        writeln!(out, "model reads  {}", shown(text))?;
    }
    for ran in &judgement.ran {
        writeln!(out, "ran          {} ({} ms)", shown(&ran.exchange.handler), ran.exchange.took.as_millis())?;
    }
    writeln!(out, "exit code    {}", answer.exit_code)?;
    for (what, text) in [("stdout", &answer.stdout), ("stderr", &answer.stderr)] {
        if !text.is_empty() {
            for (at, line) in text.trim_end().lines().enumerate() {
                writeln!(out, "{:<12} {}", if at == 0 { what } else { "" }, shown(line))?;
            }
        }
    }
    for lost in &answer.lost {
        writeln!(out, "not applied  {}", shown(lost))?;
    }
    for notice in in_force.notices.iter().chain(&judgement.warnings) {
        writeln!(out, "note         {}", shown(notice))?;
    }
    Ok(())
}
