//! Seccomp: which system calls a command may make. It closes what Landlock does not know: sockets, namespaces, mounts,
//! other processes, and parts of the kernel that an agent's command never needs.
//!
//! Four filters hold at once, and the strictest answer counts: one knows the calls that there are, one says what files do not
//! have here, one refuses what is closed, and one hands changes of files to the supervisor. Where
//! there is a supervisor, it also gets the calls that are refused whatever their arguments: it answers all of them with `EPERM`,
//! and tells the agent.

mod table;

use std::{collections::BTreeMap, os::fd::OwnedFd};

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};
use seccompy::{FilterWithListenerFlags, bpf::BpfInstruction, set_filter_with_listener};

use self::table::{Limit, Rule, When, groups};
use super::{launch::LaunchError, refusal::Refusal, rules::Reach};

/// Flags of `clone` that make namespaces.
const NAMESPACES: &[i32] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// `TIOCSTI` and `TIOCLINUX`: typing into a terminal on behalf of its user.
const TYPING: [i32; 2] = [0x5412, 0x541C];

/// Requests to file systems that change something: all of a kind, but for those that only look or that need a file which is
/// open for writing. They make names and change attributes, and the file only has to be open.
const CHANGES: [(i32, &[u32]); 4] = [
    // btrfs: `FICLONE`, `FICLONERANGE` and `FIDEDUPERANGE`.
    (0x94, &[0x4004_9409, 0x4020_940D, 0xC018_9436]),
    // `FS_IOC_GETFLAGS`, also of 32 bits, `FS_IOC_FIEMAP`, and the measure of fs-verity.
    (0x66, &[0x8008_6601, 0x8004_6601, 0xC020_660B, 0xC004_6686]),
    // `FS_IOC_FSGETXATTR`.
    (0x58, &[0x801C_581F]),
    // `FS_IOC_GETVERSION`, also of 32 bits.
    (0x76, &[0x8008_7601, 0x8004_7601]),
];

/// The part of a request that says its kind.
const KIND: u64 = 0xFF00;

/// The part of a socket's type that is not a flag.
const SOCKET_TYPE: u64 = 0xF;

/// The kind of `ioprio_set` that names a process.
const IO_PROCESS: i32 = 1;

/// Flags of `open` that change something.
const CHANGING: &[i32] = &[libc::O_WRONLY, libc::O_RDWR, libc::O_CREAT, libc::O_TRUNC];

/// Stands in a program for the answer that asks the supervisor, which `seccompiler` does not know.
const MARK: u32 = 0x7E57;

/// The instruction that answers, and the answers.
const RETURN: u16 = 0x06;
const TRACE: u32 = 0x7FF0_0000;
const USER_NOTIF: u32 = 0x7FC0_0000;

type Filter = BTreeMap<i64, Vec<SeccompRule>>;

/// What stays open of the network, and of other commands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Open<'a> {
    pub(super) network: &'a Reach,
    pub(super) unix_sockets: UnixSockets,
    /// Whether other commands of the session may be signalled.
    pub(super) neighbours: bool,
}

/// Which Unix sockets with a name there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnixSockets {
    /// None.
    Closed,
    /// Streams, for which the supervisor makes names and connections.
    Supervised,
    /// All of them: the kernel holds them to folders, or nothing does.
    Open,
}

/// Restricts this thread, and all that it will start, for ever.
pub(super) fn restrict(open: Open<'_>, is_minded: bool) -> Result<(), LaunchError> {
    apply_filter(&program(known(), SeccompAction::Errno(libc::ENOSYS.cast_unsigned()), SeccompAction::Allow)?)?;
    let unsupported = SeccompAction::Errno(libc::EOPNOTSUPP.cast_unsigned());
    apply_filter(&program(missing_here(), SeccompAction::Allow, unsupported)?)?;
    let closed = closed(open, is_minded)?;
    Ok(apply_filter(&program(closed, SeccompAction::Allow, SeccompAction::Errno(libc::EPERM.cast_unsigned()))?)?)
}

/// Hands changes of files, and what is refused, to whoever gets what this returns.
pub(super) fn listen(open: Open<'_>) -> Result<OwnedFd, LaunchError> {
    let program = program(minded(open)?, SeccompAction::Allow, SeccompAction::Trace(MARK))?;
    let program: Vec<BpfInstruction> = program
        .iter()
        .map(|line| {
            let asks = line.code == RETURN && line.k == TRACE | MARK;
            BpfInstruction { code: line.code, jt: line.jt, jf: line.jf, k: if asks { USER_NOTIF } else { line.k } }
        })
        .collect();
    // A signal must not interrupt a call that the supervisor has begun: it would be made twice.
    let flags = FilterWithListenerFlags { ignore_non_fatal_signals: true, ..FilterWithListenerFlags::default() };
    set_filter_with_listener(flags, &program).map_err(|error| LaunchError::NoSupervisor(error.to_string()))
}

/// All calls that there are, whatever becomes of them.
fn known() -> Filter {
    let known = groups().filter(|group| group.rule != Rule::Missing).flat_map(|group| group.calls);
    known.map(|(_, number)| (*number, Vec::new())).collect()
}

/// What no file system has here.
fn missing_here() -> Filter {
    let calls = groups().filter(|group| group.rule == Rule::Unsupported).flat_map(|group| group.calls);
    calls.map(|(_, number)| (*number, Vec::new())).collect()
}

/// What a call that the supervisor always refuses is told as. Sockets are another matter: it depends on their family.
pub(super) fn told(number: i64) -> Option<Refusal> {
    let refused = groups().filter(|group| matches!(group.rule, Rule::Refused | Rule::Limited(Limit::Namespaces)));
    let (name, _) = refused.flat_map(|group| group.calls).find(|(_, known)| *known == number)?;
    Some(Refusal::Call(name.trim_start_matches("SYS_").to_owned()))
}

/// Whether the supervisor refuses this in place of the filter, so that it can tell.
fn is_told(rule: Rule, open: Open<'_>) -> bool {
    match rule {
        Rule::Refused | Rule::Limited(Limit::Namespaces) => true,
        Rule::Limited(Limit::Sockets) => *open.network == Reach::Closed,
        Rule::Allowed | Rule::Limited(_) | Rule::Minded(_) | Rule::Unsupported | Rule::Missing => false,
    }
}

/// What is refused, and with which arguments.
fn closed(open: Open<'_>, is_minded: bool) -> Result<Filter, BackendError> {
    let mut filter = Filter::new();
    for group in groups().filter(|group| !(is_minded && is_told(group.rule, open))) {
        let rules = match group.rule {
            Rule::Allowed | Rule::Minded(_) | Rule::Unsupported | Rule::Missing => continue,
            Rule::Refused => Some(Vec::new()),
            Rule::Limited(limit) => refused(limit, open, is_minded)?,
        };
        if let Some(rules) = rules {
            filter.extend(group.calls.iter().map(|(_, number)| (*number, rules.clone())));
        }
    }
    Ok(filter)
}

/// The arguments that are refused; an empty list refuses all of them. Where there is a supervisor, it looks at the
/// processes that are named.
fn refused(limit: Limit, open: Open<'_>, is_minded: bool) -> Result<Option<Vec<SeccompRule>>, BackendError> {
    Ok(Some(match limit {
        Limit::Sockets => sockets(open)?,
        Limit::Pairs if open.unix_sockets == UnixSockets::Open => return Ok(None),
        // A raw Unix socket is one for datagrams.
        Limit::Pairs => [libc::SOCK_DGRAM, libc::SOCK_RAW]
            .into_iter()
            .map(|kind| rule([is(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), kind)]))
            .collect::<Result<_, _>>()?,
        Limit::Namespaces => {
            let flags = NAMESPACES.iter().map(|flag| rule([is(0, SeccompCmpOp::MaskedEq(bits(*flag)), *flag)]));
            flags.collect::<Result<_, _>>()?
        }
        Limit::Requests => {
            let typing = TYPING.iter().map(|request| rule([is(1, SeccompCmpOp::Eq, *request)]));
            let changes = CHANGES.iter().map(|(kind, looks)| {
                let looks = looks.iter().map(|look| is(1, SeccompCmpOp::Ne, look.cast_signed()));
                rule(looks.chain([is(1, SeccompCmpOp::MaskedEq(KIND), kind << 8)]))
            });
            typing.chain(changes).collect::<Result<_, _>>()?
        }
        Limit::Leases => vec![rule([is(1, SeccompCmpOp::Eq, libc::F_SETLEASE)])?],
        Limit::OtherProcess if is_minded => return Ok(None),
        Limit::OtherProcess => vec![rule([is(0, SeccompCmpOp::Ne, 0)])?],
        Limit::OtherTarget => others(libc::PRIO_PROCESS.cast_signed(), is_minded)?,
        Limit::OtherIoTarget => others(IO_PROCESS, is_minded)?,
    }))
}

/// Groups and users, and where nobody looks at them all processes but the caller.
fn others(process: i32, is_minded: bool) -> Result<Vec<SeccompRule>, BackendError> {
    let mut rules = vec![rule([is(0, SeccompCmpOp::Ne, process)])?];
    if !is_minded {
        rules.push(rule([is(1, SeccompCmpOp::Ne, 0)])?);
    }
    Ok(rules)
}

/// What the supervisor is asked about.
fn minded(open: Open<'_>) -> Result<Filter, BackendError> {
    let mut filter = Filter::new();
    if let Reach::Machine(_) = open.network {
        // Whether these name an address stands in memory.
        filter.extend([(libc::SYS_sendmsg, Vec::new()), (libc::SYS_sendmmsg, Vec::new())]);
    }
    if *open.network != Reach::Closed {
        filter.insert(libc::SYS_connect, Vec::new());
        // Most sends go to where the socket is connected, and name no address.
        let address = SeccompCondition::new(4, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0);
        filter.insert(libc::SYS_sendto, vec![rule([address])?]);
    }
    if open.unix_sockets == UnixSockets::Supervised {
        // Never left to the kernel: by the time it looks, the number may stand for another socket.
        filter.extend([(libc::SYS_bind, Vec::new()), (libc::SYS_connect, Vec::new())]);
    }
    for group in groups() {
        let any_of = |argument: u8, bits_of: &[i32]| {
            let rules = bits_of.iter().map(|bit| rule([is(argument, SeccompCmpOp::MaskedEq(bits(*bit)), *bit)]));
            rules.collect::<Result<Vec<_>, _>>()
        };
        let rules = match group.rule {
            Rule::Minded(When::Always) | Rule::Refused => Vec::new(),
            Rule::Minded(When::Opens(flags)) => any_of(flags, CHANGING)?,
            // A detour of a signal takes a moment, in which a process that was just started can change.
            Rule::Minded(When::Neighbours) if open.neighbours => Vec::new(),
            Rule::Limited(Limit::OtherProcess) => vec![rule([is(0, SeccompCmpOp::Ne, 0)])?],
            Rule::Limited(Limit::OtherTarget | Limit::OtherIoTarget) => vec![rule([is(1, SeccompCmpOp::Ne, 0)])?],
            Rule::Limited(limit) if is_told(group.rule, open) => match refused(limit, open, true)? {
                Some(rules) => rules,
                None => continue,
            },
            Rule::Limited(_) | Rule::Minded(When::Neighbours) | Rule::Allowed | Rule::Unsupported | Rule::Missing => {
                continue;
            }
        };
        filter.extend(group.calls.iter().map(|(_, number)| (*number, rules.clone())));
    }
    Ok(filter)
}

/// An empty list refuses every socket. Pairs are another call.
fn sockets(Open { network, unix_sockets, .. }: Open<'_>) -> Result<Vec<SeccompRule>, BackendError> {
    let mut open = Vec::new();
    open.extend((unix_sockets != UnixSockets::Closed).then_some(libc::AF_UNIX));
    if *network != Reach::Closed {
        // Names are looked up with the help of netlink.
        open.extend([libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]);
    }
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let other_family = rule(open.into_iter().map(|family| is(0, SeccompCmpOp::Ne, family)))?;
    // Netlink calls its ordinary sockets raw.
    let raw =
        rule([is(0, SeccompCmpOp::Ne, libc::AF_NETLINK), is(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), libc::SOCK_RAW)])?;
    let mut rules = vec![other_family, raw];
    if unix_sockets == UnixSockets::Supervised {
        // A message of these can name where it goes.
        for kind in [libc::SOCK_DGRAM, libc::SOCK_SEQPACKET, libc::SOCK_RDM] {
            rules.push(rule([
                is(0, SeccompCmpOp::Eq, libc::AF_UNIX),
                is(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), kind),
            ])?);
        }
    }
    if let Reach::Machine(_) = network {
        // The supervisor knows how these connect, and no others.
        for family in [libc::AF_INET, libc::AF_INET6] {
            let is_family = || is(0, SeccompCmpOp::Eq, family);
            let kind = |kind: i32| rule([is_family(), is(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), kind)]);
            let others = [libc::SOCK_RDM, libc::SOCK_SEQPACKET, libc::SOCK_DCCP].map(kind);
            rules.extend(others.into_iter().collect::<Result<Vec<_>, _>>()?);
            let protocols = [0, libc::IPPROTO_TCP, libc::IPPROTO_UDP, libc::IPPROTO_ICMP, libc::IPPROTO_ICMPV6];
            let protocols = protocols.into_iter().chain([libc::IPPROTO_MPTCP]);
            let others = protocols.map(|protocol| is(2, SeccompCmpOp::Ne, protocol));
            rules.push(rule(others.chain([is_family()]))?);
        }
    }
    Ok(rules)
}

/// Holds if all of the conditions hold.
fn rule(
    conditions: impl IntoIterator<Item = Result<SeccompCondition, BackendError>>,
) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.into_iter().collect::<Result<_, _>>()?)
}

/// A condition on an argument. The kernel reads 32 bits of each of them, and so does the filter.
fn is(argument: u8, operator: SeccompCmpOp, value: i32) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, bits(value))
}

fn bits(value: i32) -> u64 {
    u64::from(value.cast_unsigned())
}

/// A program that answers one thing for what is in the filter and another for the rest. Calls of another architecture
/// end the process.
fn program(filter: Filter, otherwise: SeccompAction, matching: SeccompAction) -> Result<BpfProgram, LaunchError> {
    let architecture = std::env::consts::ARCH.try_into().map_err(seccompiler::Error::Backend)?;
    let filter = SeccompFilter::new(filter, otherwise, matching, architecture).and_then(TryInto::try_into);
    Ok(filter.map_err(seccompiler::Error::Backend)?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{
        super::rules::{Hosts, Outside},
        table::page,
        *,
    };

    #[test]
    fn every_call_is_in_the_table_once() {
        let all: Vec<i64> = groups().flat_map(|group| group.calls).map(|(_, number)| *number).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    }

    #[test]
    fn what_the_filter_does_not_refuse_itself_it_hands_to_a_supervisor_that_does() {
        let closed_network = Open { network: &Reach::Closed, unix_sockets: UnixSockets::Closed, neighbours: false };
        let outside = Reach::Machine(Outside { hosts: Hosts::All, ports: BTreeSet::new() });
        let machine = Open { network: &outside, unix_sockets: UnixSockets::Closed, neighbours: true };
        for (open, is_minded) in [(closed_network, true), (closed_network, false), (machine, true), (machine, false)] {
            let (closed, minded) = (closed(open, is_minded).expect("a filter"), minded(open).expect("a filter"));
            let refused = groups().filter(|group| group.rule == Rule::Refused).flat_map(|group| group.calls);
            for (name, number) in refused.chain(&[("SYS_clone", libc::SYS_clone)]) {
                let is_told = is_minded && minded.contains_key(number) && told(*number).is_some();
                assert!(closed.contains_key(number) || is_told, "{name} {open:?} {is_minded}");
            }
            assert!(closed.contains_key(&libc::SYS_socket) || (is_minded && minded.contains_key(&libc::SYS_socket)));
        }
        let harmless = groups().filter(|group| matches!(group.rule, Rule::Allowed | Rule::Minded(_)));
        for (name, number) in harmless.flat_map(|group| group.calls) {
            assert_eq!(told(*number), None, "{name}");
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_page_says_what_the_filter_does() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sandbox.md");
        let docs = std::fs::read_to_string(path).expect("the page");
        let (begin, end) = ("<!-- calls: begin -->\n", "<!-- calls: end -->");
        let (before, rest) = docs.split_once(begin).expect("where the table begins");
        let (found, after) = rest.split_once(end).expect("where the table ends");
        if std::env::var_os("VERTEBRA_WRITE_DOCS").is_some() {
            std::fs::write(path, format!("{before}{begin}{}{end}{after}", page())).expect("the page");
            return;
        }
        assert_eq!(found, page(), "run the test with VERTEBRA_WRITE_DOCS=1 to write the table");
    }
}
