extension ObjectKey {
    /// The primary key as documents' tables have it.
    package var idText: String { id.value.idText ?? "" }

    /// By which objects are put in order.
    package var place: String { "\(table) \(idText)" }

    /// Whether Postgres can store the key.
    package var isStorable: Bool { !place.utf8.contains(0) }
}
