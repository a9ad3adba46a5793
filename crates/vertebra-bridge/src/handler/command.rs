//! `command`: a program for each event.

use std::collections::BTreeMap;

use super::{
    Answered, Ask, BoxFuture, Handler, HandlerError, Services, environment,
    process::{Program, Start},
};
use crate::settings::{Contract, Words};

/// A program that is started for each event, anew: what its file says then is what runs.
pub(super) struct Command {
    program: Program,
    variables: BTreeMap<String, String>,
    contract: Contract,
}

impl Command {
    pub(super) fn new(
        words: &Words,
        env: &[String],
        contract: Contract,
        services: &Services,
    ) -> Result<Self, HandlerError> {
        let program = program(words, services)?;
        let mut variables = environment::passed(services, env);
        if matches!(contract, Contract::ClaudeCode { .. }) {
            variables.insert("CLAUDE_PROJECT_DIR".to_owned(), services.folder.to_string_lossy().into_owned());
        }
        Ok(Self { program, variables, contract })
    }
}

impl Handler for Command {
    fn shown(&self) -> String {
        self.program.shown()
    }

    fn fits(&self, point: &'static str) -> Result<(), HandlerError> {
        self.contract.fits(point)
    }

    fn ask<'a>(&'a self, ask: Ask<'a>) -> BoxFuture<'a, Answered> {
        Box::pin(async move {
            let variables = environment::for_event(&self.variables, &ask);
            let program = Program { variables, ..self.program.clone() };
            let over = async |event: Vec<u8>| program.exchange(&event, ask.limit).await;
            self.contract.put(&ask, self.shown(), over).await
        })
    }
}

/// The program that a command line means, in the project's folder. It has no environment yet.
pub(super) fn program(words: &Words, services: &Services) -> Result<Program, HandlerError> {
    let (start, is_empty) = match words {
        Words::Line(line) => (Start::Shell(line.clone()), line.trim().is_empty()),
        Words::List(words) => (Start::Exec(words.clone()), words.first().is_none_or(String::is_empty)),
    };
    if is_empty {
        return Err(HandlerError::EmptyCommand);
    }
    Ok(Program {
        start,
        folder: services.folder.clone(),
        variables: Vec::new(),
        seal: services.seals.of_command(words),
    })
}
