//! What a command finds in its environment.

use super::*;

/// What a shell adds on its own.
const OWN: &[&str] = &["PWD", "OLDPWD", "SHLVL", "_"];

#[tokio::test]
async fn of_fifty_secrets_a_command_sees_none() {
    let words =
        ["API_KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIALS", "AUTH", "PRIVATE_KEY", "COOKIE", "PASSPHRASE", "DSN"];
    let owners = ["LC", "GITHUB", "AWS", "DATABASE", "CARGO_HOME"];
    let secrets = owners.iter().flat_map(|owner| words.iter().map(move |word| (format!("{owner}_{word}"), "hunter2")));
    let harmless = [("PATH", "/usr/bin:/bin"), ("LC_ALL", "C"), ("GITHUB_SHA", "abc"), ("LD_LIBRARY_PATH", "/x")];
    let all = secrets.chain(harmless.map(|(name, value)| (name.to_owned(), value)));
    let area = Area::new();
    let environment = area.bash.environment.clone().from(all.collect::<Vec<_>>()).pass("GITHUB_*").pass("AWS_AUTH");
    let output = area.with(|bash| bash.environment = environment).bash("env").await.output;
    // Package managers are led to a cache of commands, and do not try again without network.
    let for_packages = |line: &str| {
        line.contains("/home/.cache/vertebra/sandbox/own/")
            || ["RETRIES=0", "RETRY=0", "retries=0"].iter().any(|end| line.ends_with(end))
    };
    let lines = output.lines().filter(|line| !for_packages(line));
    let mut names: Vec<&str> = lines.filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.retain(|name| !OWN.contains(name));
    names.sort_unstable();
    // `AWS_AUTH` was named in full.
    assert_eq!(names, ["AWS_AUTH", "GITHUB_SHA", "HOME", "LC_ALL", "PATH", "TMPDIR"]);
    assert_eq!(output.matches("hunter2").count(), 1, "{output}");
}

#[tokio::test]
async fn the_folder_for_temporary_files_has_a_name_though_the_person_has_none() {
    let area = Area::new();
    let mut environment = area.bash.environment.clone().from([("PATH", "/usr/bin:/bin")]);
    environment.set.remove("TMPDIR");
    assert_eq!(area.with(|bash| bash.environment = environment).bash("echo $TMPDIR").await.output, "/tmp");
}

#[tokio::test]
async fn no_file_of_the_user_is_run_first() {
    let area = Area::new();
    for file in [".bashrc", ".bash_profile", ".profile"] {
        fs::write(area.path("home").join(file), "echo started").expect("a new file");
    }
    let environment = area.bash.environment.clone().from([("PATH", "/usr/bin:/bin"), ("BASH_ENV", "/dev/null")]);
    assert_eq!(area.with(|bash| bash.environment = environment).bash("echo ${BASH_ENV-unset}").await.output, "unset");
}
