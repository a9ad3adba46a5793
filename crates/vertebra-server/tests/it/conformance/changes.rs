//! What of a contract is no longer what it was.
//!
//! Old clients speak the old contract to a new server. So what was once in it stays, by number, name and kind; what is
//! given up is reserved, number and name, so that nobody gives it another meaning. What is added harms nobody.

use std::collections::BTreeMap;

use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet,
    MethodDescriptorProto,
};

/// Everything that an old client would stumble over, in words.
pub(crate) fn incompatible(old: &FileDescriptorSet, new: &FileDescriptorSet) -> Vec<String> {
    let (old, new) = (Contract::of(old), Contract::of(new));
    let mut wrong = Vec::new();
    for (name, was) in &old.messages {
        match new.messages.get(name) {
            Some(is) => message(name, was, is, &mut wrong),
            None => wrong.push(format!("the message {name} is gone")),
        }
    }
    for (name, was) in &old.enums {
        match new.enums.get(name) {
            Some(is) => enumeration(name, was, is, &mut wrong),
            None => wrong.push(format!("the enum {name} is gone")),
        }
    }
    for (name, was) in &old.methods {
        match new.methods.get(name) {
            Some(is) if shape(is) == shape(was) => {}
            Some(is) => wrong.push(format!("{name} was {} and is {}", shape(was), shape(is))),
            None => wrong.push(format!("the method {name} is gone")),
        }
    }
    wrong
}

/// A contract by full names, wherever they are written.
#[derive(Default)]
struct Contract<'a> {
    messages: BTreeMap<String, &'a DescriptorProto>,
    enums: BTreeMap<String, &'a EnumDescriptorProto>,
    methods: BTreeMap<String, &'a MethodDescriptorProto>,
}

impl<'a> Contract<'a> {
    fn of(set: &'a FileDescriptorSet) -> Self {
        let mut contract = Self::default();
        set.file.iter().for_each(|file| contract.add_file(file));
        contract
    }

    fn add_file(&mut self, file: &'a FileDescriptorProto) {
        let package = file.package();
        file.message_type.iter().for_each(|message| self.add_message(package, message));
        self.enums.extend(file.enum_type.iter().map(|one| (format!("{package}.{}", one.name()), one)));
        for service in &file.service {
            let name = |method: &MethodDescriptorProto| format!("{package}.{}/{}", service.name(), method.name());
            self.methods.extend(service.method.iter().map(|method| (name(method), method)));
        }
    }

    fn add_message(&mut self, within: &str, message: &'a DescriptorProto) {
        let name = format!("{within}.{}", message.name());
        message.nested_type.iter().for_each(|nested| self.add_message(&name, nested));
        self.enums.extend(message.enum_type.iter().map(|one| (format!("{name}.{}", one.name()), one)));
        self.messages.insert(name, message);
    }
}

fn message(name: &str, was: &DescriptorProto, is: &DescriptorProto, wrong: &mut Vec<String>) {
    let reserved = |number: i32| is.reserved_range.iter().any(|range| (range.start()..range.end()).contains(&number));
    for old in &was.field {
        let number = old.number();
        match is.field.iter().find(|field| field.number() == number) {
            Some(new) => {
                let (before, after) = (field(old, was), field(new, is));
                if before != after {
                    wrong.push(format!("field {number} of {name} was `{before}` and is `{after}`"));
                }
            }
            None if !reserved(number) || !is.reserved_name.iter().any(|name| name == old.name()) => {
                let field = old.name();
                wrong.push(format!(
                    "field {number} of {name}, `{field}`, is gone: write `reserved {number};` and `reserved \"{field}\";`"
                ));
            }
            None => {}
        }
    }
    for gone in &was.reserved_name {
        if !is.reserved_name.contains(gone) {
            wrong.push(format!("{name} had a field `{gone}` once, and has to keep `reserved \"{gone}\";`"));
        }
    }
}

/// A field as it is written: `repeated vertebra.v1.Session sessions`.
fn field(field: &FieldDescriptorProto, of: &DescriptorProto) -> String {
    let oneof = field.oneof_index.and_then(|index| of.oneof_decl.get(usize::try_from(index).ok()?));
    let label = match oneof {
        Some(_) if field.proto3_optional() => "optional ".to_owned(),
        Some(oneof) => format!("oneof {} ", oneof.name()),
        None => format!("{} ", field.label().as_str_name().trim_start_matches("LABEL_").to_lowercase()),
    };
    let kind = match field.type_name().trim_start_matches('.') {
        "" => field.r#type().as_str_name().trim_start_matches("TYPE_").to_lowercase(),
        name => name.to_owned(),
    };
    format!("{label}{kind} {}", field.name())
}

fn enumeration(name: &str, was: &EnumDescriptorProto, is: &EnumDescriptorProto, wrong: &mut Vec<String>) {
    let reserved = |number: i32| is.reserved_range.iter().any(|range| (range.start()..=range.end()).contains(&number));
    for old in &was.value {
        let (number, value) = (old.number(), old.name());
        match is.value.iter().find(|value| value.number() == number) {
            Some(new) if new.name() == value => {}
            Some(new) => wrong.push(format!("value {number} of {name} was `{value}` and is `{}`", new.name())),
            None if reserved(number) && is.reserved_name.iter().any(|name| name == value) => {}
            None => wrong.push(format!(
                "value {number} of {name}, `{value}`, is gone: write `reserved {number};` and `reserved \"{value}\";`"
            )),
        }
    }
}

/// What goes over and what comes back.
fn shape(method: &MethodDescriptorProto) -> String {
    let side = |stream: bool, name: &str| format!("{}{}", if stream { "stream " } else { "" }, &name[1..]);
    let asked = side(method.client_streaming(), method.input_type());
    format!("({asked}) returns ({})", side(method.server_streaming(), method.output_type()))
}

#[cfg(test)]
mod tests {
    use prost_types::{
        EnumValueDescriptorProto, ServiceDescriptorProto,
        descriptor_proto::ReservedRange,
        enum_descriptor_proto::EnumReservedRange,
        field_descriptor_proto::{Label, Type},
    };

    use super::*;

    /// A contract with one of each, made by hand, after a change.
    fn contract(change: impl FnOnce(&mut FileDescriptorProto)) -> FileDescriptorSet {
        let field = |name: &str, number, kind: Type| FieldDescriptorProto {
            name: Some(name.to_owned()),
            number: Some(number),
            r#type: Some(kind.into()),
            label: Some(Label::Optional.into()),
            ..FieldDescriptorProto::default()
        };
        let value = |name: &str, number| EnumValueDescriptorProto {
            name: Some(name.to_owned()),
            number: Some(number),
            ..EnumValueDescriptorProto::default()
        };
        let mut file = FileDescriptorProto {
            package: Some("shop.v1".to_owned()),
            message_type: vec![DescriptorProto {
                name: Some("Order".to_owned()),
                field: vec![field("id", 1, Type::String), field("amount", 2, Type::Uint32)],
                ..DescriptorProto::default()
            }],
            enum_type: vec![EnumDescriptorProto {
                name: Some("State".to_owned()),
                value: vec![value("STATE_OPEN", 0), value("STATE_PAID", 1)],
                ..EnumDescriptorProto::default()
            }],
            service: vec![ServiceDescriptorProto {
                name: Some("Orders".to_owned()),
                method: vec![MethodDescriptorProto {
                    name: Some("Get".to_owned()),
                    input_type: Some(".shop.v1.Order".to_owned()),
                    output_type: Some(".shop.v1.Order".to_owned()),
                    ..MethodDescriptorProto::default()
                }],
                ..ServiceDescriptorProto::default()
            }],
            ..FileDescriptorProto::default()
        };
        change(&mut file);
        FileDescriptorSet { file: vec![file] }
    }

    fn check(change: impl FnOnce(&mut FileDescriptorProto), expected: &[&str]) {
        assert_eq!(incompatible(&contract(|_| {}), &contract(change)), expected);
    }

    #[test]
    fn a_field_that_is_gone_renumbered_renamed_retyped_or_repeated_is_told() {
        const GONE: &str =
            "field 2 of shop.v1.Order, `amount`, is gone: write `reserved 2;` and `reserved \"amount\";`";
        check(|file| _ = file.message_type[0].field.pop(), &[GONE]);
        check(|file| file.message_type[0].field[1].number = Some(3), &[GONE]);
        check(
            |file| file.message_type[0].field[1].name = Some("sum".to_owned()),
            &["field 2 of shop.v1.Order was `optional uint32 amount` and is `optional uint32 sum`"],
        );
        check(
            |file| file.message_type[0].field[1].set_type(Type::Uint64),
            &["field 2 of shop.v1.Order was `optional uint32 amount` and is `optional uint64 amount`"],
        );
        check(
            |file| file.message_type[0].field[1].set_label(Label::Repeated),
            &["field 2 of shop.v1.Order was `optional uint32 amount` and is `repeated uint32 amount`"],
        );
        check(
            |file| {
                file.message_type[0].oneof_decl =
                    vec![prost_types::OneofDescriptorProto { name: Some("what".to_owned()), options: None }];
                file.message_type[0].field[1].oneof_index = Some(0);
            },
            &["field 2 of shop.v1.Order was `optional uint32 amount` and is `oneof what uint32 amount`"],
        );
    }

    #[test]
    fn a_field_may_go_when_its_number_and_its_name_are_reserved_for_good() {
        let without = |file: &mut FileDescriptorProto| {
            let order = &mut file.message_type[0];
            order.field.pop();
            order.reserved_range = vec![ReservedRange { start: Some(2), end: Some(3) }];
            order.reserved_name = vec!["amount".to_owned()];
        };
        check(without, &[]);
        check(
            |file| {
                without(file);
                file.message_type[0].reserved_name.clear();
            },
            &["field 2 of shop.v1.Order, `amount`, is gone: write `reserved 2;` and `reserved \"amount\";`"],
        );
        assert_eq!(
            incompatible(&contract(without), &contract(|_| {})),
            ["shop.v1.Order had a field `amount` once, and has to keep `reserved \"amount\";`"]
        );
    }

    #[test]
    fn a_value_of_an_enum_may_go_only_when_it_is_reserved() {
        const GONE: &str =
            "value 1 of shop.v1.State, `STATE_PAID`, is gone: write `reserved 1;` and `reserved \"STATE_PAID\";`";
        check(|file| _ = file.enum_type[0].value.pop(), &[GONE]);
        check(
            |file| file.enum_type[0].value[1].name = Some("STATE_DONE".to_owned()),
            &["value 1 of shop.v1.State was `STATE_PAID` and is `STATE_DONE`"],
        );
        check(
            |file| {
                let state = &mut file.enum_type[0];
                state.value.pop();
                state.reserved_range = vec![EnumReservedRange { start: Some(1), end: Some(1) }];
                state.reserved_name = vec!["STATE_PAID".to_owned()];
            },
            &[],
        );
    }

    #[test]
    fn a_message_an_enum_or_a_method_that_is_gone_or_another_is_told() {
        check(|file| file.message_type.clear(), &["the message shop.v1.Order is gone"]);
        check(|file| file.enum_type.clear(), &["the enum shop.v1.State is gone"]);
        check(|file| file.service.clear(), &["the method shop.v1.Orders/Get is gone"]);
        check(
            |file| file.service[0].method[0].server_streaming = Some(true),
            &[
                "shop.v1.Orders/Get was (shop.v1.Order) returns (shop.v1.Order) and is (shop.v1.Order) returns (stream shop.v1.Order)",
            ],
        );
    }

    #[test]
    fn what_is_added_harms_nobody() {
        check(
            |file| {
                let mut more = file.message_type[0].clone();
                more.name = Some("Refund".to_owned());
                file.message_type.push(more);
                let mut field = file.message_type[0].field[0].clone();
                (field.name, field.number) = (Some("note".to_owned()), Some(3));
                file.message_type[0].field.push(field);
            },
            &[],
        );
    }
}
