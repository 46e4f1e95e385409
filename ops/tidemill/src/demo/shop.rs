//! An online shop's order events, made up from a seed.
//!
//! - Events of one customer are numbered from 1 without gaps, so that whoever reads them can tell
//!   whether one is missing, doubled or out of order.
//! - Each till sells to customers of its own, so that a customer's events have one producer and
//!   hence an order.
//! - The same seed gives the same events; timestamps are the caller's.

use std::fmt::Write;

use crate::demo::chance::Chance;

/// How many events a customer has on average.
const EVENTS_PER_CUSTOMER: u64 = 60;

const PRODUCTS: [(&str, u64); 8] = [
    ("anchor-5kg", 4_990),
    ("brass-lantern", 8_450),
    ("deck-brush", 1_290),
    ("hemp-rope-20m", 2_395),
    ("oilskin-coat", 15_900),
    ("sea-chart-north", 3_200),
    ("tide-table-2027", 1_450),
    ("wool-cap", 1_999),
];

const CITIES: [&str; 6] = ["Aveiro", "Bristol", "Emden", "Esbjerg", "Saint-Malo", "Vlissingen"];

/// A till: makes the events of its customers.
#[derive(Debug)]
pub(crate) struct Till {
    chance: Chance,
    customers: Vec<Customer>,
    first: u64,
    step: u64,
    orders: u64,
}

/// An event, ready to be produced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Event {
    /// The customer, as the key.
    pub(crate) key: String,
    /// What happened, in JSON.
    pub(crate) value: String,
    /// What kind of event it is, for a header.
    pub(crate) kind: &'static str,
}

#[derive(Clone, Debug, Default)]
struct Customer {
    events: u64,
    order: Option<Order>,
}

#[derive(Clone, Debug)]
struct Order {
    number: u64,
    total_cents: u64,
    next: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Paid,
    Packed,
    Shipped,
    Delivered,
}

/// The name of customer `number`.
pub(crate) fn customer_name(number: u64) -> String {
    format!("customer-{number:06}")
}

/// How many customers a shop with so many events has.
pub(crate) fn customers_of(events: u64) -> u64 {
    (events / EVENTS_PER_CUSTOMER).max(16)
}

impl Till {
    /// Till `index` of `count` in a shop with `customers`.
    pub(crate) fn new(seed: u64, index: u64, count: u64, customers: u64) -> Self {
        let own = (customers + count - 1 - index) / count;
        Self {
            chance: Chance::new(seed ^ (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            customers: vec![Customer::default(); usize::try_from(own).unwrap_or(usize::MAX)],
            first: index,
            step: count,
            orders: 0,
        }
    }

    /// The next event, said to happen at `now_ms`.
    pub(crate) fn next_event(&mut self, now_ms: i64) -> Event {
        let at = self.chance.below(self.customers.len() as u64);
        let name = customer_name(self.first + at * self.step);
        let order_number = self.first + self.orders * self.step;
        let customer = &mut self.customers[usize::try_from(at).unwrap_or(0)];
        customer.events += 1;
        let mut value =
            format!("{{\"customer\":\"{name}\",\"n\":{},\"at_ms\":{now_ms}", customer.events);
        let kind = match customer.order.take() {
            None => {
                let (items, total_cents) = basket(&mut self.chance);
                let city = CITIES[self.chance.index(CITIES.len())];
                self.orders += 1;
                let _ = write!(
                    value,
                    ",\"order\":\"o-{order_number:08}\",\"items\":[{items}],\
                     \"total_cents\":{total_cents},\"ship_to\":\"{city}\""
                );
                customer.order =
                    Some(Order { number: order_number, total_cents, next: Stage::Paid });
                "order_placed"
            }
            Some(order) => {
                let _ = write!(
                    value,
                    ",\"order\":\"o-{:08}\",\"total_cents\":{}",
                    order.number, order.total_cents
                );
                let (kind, next) = progress(order.next, &mut self.chance);
                customer.order = next.map(|next| Order { next, ..order });
                kind
            }
        };
        let _ = write!(value, ",\"event\":\"{kind}\"}}");
        Event { key: name, value, kind }
    }

    /// How many events each customer of this till has had.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        let numbered = self.customers.iter().zip(0..);
        numbered.map(|(customer, at): (_, u64)| (self.first + at * self.step, customer.events))
    }
}

/// What happens to an order at a stage, and the stage after it.
fn progress(stage: Stage, chance: &mut Chance) -> (&'static str, Option<Stage>) {
    match stage {
        Stage::Paid if chance.below(20) == 0 => ("order_cancelled", None),
        Stage::Paid => ("order_paid", Some(Stage::Packed)),
        Stage::Packed => ("order_packed", Some(Stage::Shipped)),
        Stage::Shipped => ("order_shipped", Some(Stage::Delivered)),
        Stage::Delivered => ("order_delivered", None),
    }
}

/// What a customer buys: the items in JSON, and what they cost.
fn basket(chance: &mut Chance) -> (String, u64) {
    let mut items = String::new();
    let mut total_cents = 0;
    for at in 0..=chance.below(3) {
        let (product, cents) = PRODUCTS[chance.index(PRODUCTS.len())];
        let count = 1 + chance.below(3);
        total_cents += cents * count;
        let comma = if at == 0 { "" } else { "," };
        let _ = write!(
            items,
            "{comma}{{\"product\":\"{product}\",\"count\":{count},\"cents\":{cents}}}"
        );
    }
    (items, total_cents)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_events() {
        let events = |seed| {
            let mut till = Till::new(seed, 0, 2, 40);
            (0..200).map(|at| till.next_event(at)).collect::<Vec<_>>()
        };
        assert_eq!(events(1), events(1));
        assert_ne!(events(1), events(2));
    }

    #[test]
    fn customers_are_numbered_without_gaps_and_belong_to_one_till() {
        let mut last = BTreeMap::new();
        let mut owners = BTreeMap::new();
        for index in 0..3 {
            let mut till = Till::new(9, index, 3, 50);
            for _ in 0..500 {
                let event = till.next_event(5);
                let value: serde_json::Value = serde_json::from_str(&event.value).unwrap();
                let next = last.entry(event.key.clone()).or_insert(0);
                *next += 1;
                assert_eq!(value["n"], *next);
                assert_eq!(value["customer"], event.key);
                assert_eq!(*owners.entry(event.key).or_insert(index), index);
            }
            let counted: u64 = till.counts().map(|(_, events)| events).sum();
            assert_eq!(counted, 500);
            for (customer, events) in till.counts() {
                assert_eq!(last.get(&customer_name(customer)).copied().unwrap_or(0), events);
            }
        }
    }

    #[test]
    fn an_order_goes_through_its_stages() {
        let mut till = Till::new(3, 0, 1, 1);
        let kinds: Vec<_> = (0..200).map(|at| till.next_event(at).kind).collect();
        for pair in kinds.windows(2) {
            let expected: &[&str] = match pair[0] {
                "order_placed" => &["order_paid", "order_cancelled"],
                "order_paid" => &["order_packed"],
                "order_packed" => &["order_shipped"],
                "order_shipped" => &["order_delivered"],
                _ => &["order_placed"],
            };
            assert!(expected.contains(&pair[1]), "{pair:?}");
        }
    }
}
