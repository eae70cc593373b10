import AppDefinition
import AppRegistry
public import DocumentModel
import DocumentStore
import EventLoop
import Functions
import Logging
import Postgres

/// Why a user may or may not open a partition: what the rules say now, with the values that they see, and what stands in the database.
public struct AccessExplanation: Sendable {
    /// The steps of the explanation, in order, as a document for programs.
    public let document: Document
    /// The same as text.
    public let lines: [String]
}

extension AppDeployments {
    /// Explains a user's access to a partition, and where a document is.
    ///
    /// - Parameters:
    ///   - user: the user's id.
    ///   - partition: in the form of key texts (`s:team-1`).
    ///   - document: the `_id` of a document: as key text, the digits of an ObjectId, Extended JSON, or a string.
    /// - Throws: `DeploymentError`: `appUnknown`; `notSynced`.
    public func explain(
        _ app: String, user: String, partition: String, document: String? = nil
    ) async throws -> AccessExplanation {
        try await prepare()
        let deployed = try await deployed(app)
        guard let sync = deployed.definition.sync, sync.isEnabled else {
            throw DeploymentError(.notSynced, "\(app) doesn't sync: nobody may open any partition")
        }
        var text = ExplanationText()
        text.title("\(user) and \(partition), by version \(deployed.version) of \(app)")
        let (claims, source) = try await claims(of: user, partition: partition, app: app)
        text.add("user", ["profile": .string(source)], "the user's profile: \(source)")
        let isShutOut = try await isShutOut(user, app: app)
        if isShutOut {
            text.add("shutOut", ["shutOut": true], "the account is deleted or disabled: nothing may be opened")
        } else if try await !exists(user, app: app) {
            text.add("user", ["exists": false], "the app has no such user")
        }
        let profile = try await RuleUser(claims: claims, id: user)
            .withPresentCustomData(of: deployed.definition, in: store(deployed.definition))
        let rules = try await explainRules(deployed, sync, profile, Partition(text: partition), &text)
        try await explainGrant(
            app, user, partition, version: deployed.version, expected: isShutOut ? "none" : rules, &text)
        try await explainDevices(app, user, partition, &text)
        if let document { try await explainDocument(document, deployed.definition, partition, &text) }
        return AccessExplanation(document: text.document, lines: text.lines)
    }

    /// The profile with which the question was asked last.
    private func claims(of user: String, partition: String, app: String) async throws -> (Document, String) {
        let rows =
            try await hasTable("grant_subjects")
            ? try await client.query(
                """
                select claims, partition, to_char(asked_at at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS')
                from partita.grant_subjects where app = $1 and user_id = $2
                order by partition = $3 desc, asked_at desc limit 1
                """, [.text(app), .text(user), .text(partition)]
            ).decode((String, String, String).self) : []
        guard let (claims, asked, at) = rows.first else {
            return (
                [:], "not known, since the user has opened no partition or is shut out; only the id is used"
            )
        }
        let place = asked.hasSameBytes(as: partition) ? "it" : asked
        return (
            try ExtendedJSON.parseDocument(claims), "as the access token had it when \(place) was asked for, \(at) UTC"
        )
    }

    private func exists(_ user: String, app: String) async throws -> Bool {
        guard try await hasTable("auth_users") else { return true }
        return try await !client.query(
            "select from partita.auth_users where app = $1 and id = $2", [.text(app), .text(user)]
        ).isEmpty
    }

    private func isShutOut(_ user: String, app: String) async throws -> Bool {
        guard try await hasTable("shut_out_users") else { return false }
        return try await !client.query(
            "select from partita.shut_out_users where app = $1 and user_id = $2", [.text(app), .text(user)]
        ).isEmpty
    }

    /// - Returns: the access that the rules give; `nil` when they fail.
    private func explainRules(
        _ app: DeployedApp, _ sync: SyncConfiguration, _ user: RuleUser, _ partition: Partition,
        _ text: inout ExplanationText
    ) async throws -> String? {
        let context = RuleContext(app: app.definition, user: user, partition: partition.value)
        for (kind, rule) in [("write", sync.write), ("read", sync.read)] {
            text.add(
                kind, ["rule": rule.source], "rule to \(kind): \(ExtendedJSON.print(rule.source, mode: .relaxed))")
            for (name, value) in rule.values(in: context) {
                let shown = value.map { ExtendedJSON.print($0, mode: .relaxed) } ?? "missing"
                text.add(kind, [name: value ?? .null], "  \(name) is \(shown)")
            }
        }
        let hosts = FunctionHostPool(configuration: .init(hosts: 1), loop: loop, logger: Logger(label: "rules"))
        let running = Task { try await hosts.run() }
        defer { running.cancel() }
        let seen = Locked<[(Document, String)]>([])
        let observer = PartitionRules.Observer(
            reads: { call in
                let filter = ExtendedJSON.print(.document(call.filter), mode: .relaxed)
                let place = "\(call.namespace.database).\(call.namespace.collection)"
                seen.withLock {
                    $0.append(
                        (["reads": .string(place), "filter": .document(call.filter)], "  reads \(place) \(filter)"))
                }
            },
            called: { function, arguments, result in
                let given = arguments.map { ExtendedJSON.print($0, mode: .relaxed) }.joined(separator: ", ")
                let (value, shown): (Value, String) =
                    switch result {
                    case .success(let value): (value, "returns \(ExtendedJSON.print(value, mode: .relaxed))")
                    case .failure(let error): (.string("\(error)"), "fails: \(error)")
                    }
                seen.withLock {
                    $0.append(
                        (
                            ["function": .string(function), "arguments": .array(arguments), "result": value],
                            "  \(function)(\(given)) \(shown)"
                        ))
                }
            })
        let result: Result<PartitionRules.Answer, any Error>
        do {
            let rules = PartitionRules(store: store(app.definition), functions: hosts)
            result = .success(
                try await rules.answer(
                    app.definition, version: app.version, user: user, partition: partition, observer: observer))
        } catch {
            result = .failure(error)
        }
        for (document, line) in seen.withLock({ $0 }) { text.add("evaluation", document, line) }
        switch result {
        case .success(let answer):
            let access = answer.mayWrite ? "write" : answer.mayRead ? "read" : "none"
            text.add(
                "answer", ["access": .string(access), "reason": .string(answer.reason)],
                "the rules say now: \(access), because of: \(answer.reason)")
            return access
        case .failure(let error):
            text.add(
                "answer", ["access": "none", "failure": .string("\(error)")],
                "the rules fail now, so that access is denied: \(error)")
            return nil
        }
    }

    private func explainGrant(
        _ app: String, _ user: String, _ partition: String, version: Int64, expected: String?,
        _ text: inout ExplanationText
    ) async throws {
        let rows = try await client.query(
            """
            select g.user_id, g.access, g.epoch || '.' || g.version, coalesce(g.reason #>> '{}', ''),
                to_char(g.decided_at at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS'), coalesce(g.expires_at < now(), false),
                g.rules, coalesce(g.secrets <> a.secrets_version, false)
            from partita.grants g join partita.apps a on a.id = g.app where g.app = $1 and g.partition = $2 and g.user_id in ($3, '*') order by g.user_id
            """, [.text(app), .text(partition), .text(user)]
        ).decode((String, String, String, String, String, Bool, Int64?, Bool).self)
        for (holder, access, number, reason, at, isExpired, rules, hasOtherSecrets) in rows {
            let whose = holder == "*" ? "grant for everybody" : "grant"
            text.add(
                "grant",
                [
                    "user": .string(holder), "access": .string(access), "version": .string(number),
                    "reason": .string(reason), "decidedAt": .string(at), "isExpired": .bool(isExpired),
                ],
                "\(whose): \(access), version \(number), decided \(at) UTC\(isExpired ? ", expired" : ""), because of: \(reason)"
            )
            if isExpired {
                text.add(
                    "grant", ["hasEnded": true],
                    "  it has ended; it is decided again when the user opens the partition")
            } else if let rules, rules != version {
                text.add(
                    "grant", ["rules": .int64(rules)],
                    "  it was decided by version \(rules) of the app; `permissions` decides it again in the background")
            } else if hasOtherSecrets {
                text.add(
                    "grant", ["hasOtherSecrets": true],
                    "  a secret was changed since; `permissions` decides it again in the background")
            }
        }
        if rows.isEmpty {
            text.add(
                "grant", ["access": .null],
                "no grant: the user hasn't asked, or was denied; a device asks when it opens the partition")
        }
        guard try await hasTable("grant_outbox") else { return }
        let waiting = try await client.query(
            "select from partita.grant_outbox where app = $1 and partition = $2 and user_id = $3",
            [.text(app), .text(partition), .text(user)])
        if !waiting.isEmpty {
            text.add("grant", ["isPublished": false], "  the topic permission-grants doesn't have it yet")
        }
        if let own = rows.first(where: { $0.0.hasSameBytes(as: user) }), let expected, own.1 != expected, !own.5 {
            text.add(
                "grant", ["differs": true],
                "  it differs from what the rules say now: `permissions` hasn't decided it again, or what they read has changed in this moment"
            )
        }
    }

    private func explainDevices(
        _ app: String, _ user: String, _ partition: String, _ text: inout ExplanationText
    ) async throws {
        let rows = try await client.query(
            """
            select device, last_version, schema_version, is_closed, to_char(updated_at at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS')
            from partita.uploads where app = $1 and partition = $2 and user_id = $3 order by updated_at desc limit 100
            """, [.text(app), .text(partition), .text(user)]
        ).decode((String, Int64, Int64?, Bool, String).self)
        for (device, last, schemaVersion, isClosed, at) in rows {
            text.add(
                "device",
                [
                    "device": .string(device), "lastVersion": .int64(last), "isClosed": .bool(isClosed),
                    "schemaVersion": schemaVersion.map { .int64($0) } ?? .null, "at": .string(at),
                ],
                "device \(device): its changeset \(last) was the last to arrive, \(at) UTC\(isClosed ? "; another device has used its name since" : "")"
            )
        }
        let head = try await client.query(
            "select epoch || '.' || head from partita.partitions where app = $1 and partition = $2",
            [.text(app), .text(partition)]
        ).decode(String.self).first
        text.add(
            "partition", ["head": head.map { .string($0) } ?? .null],
            head.map { "the partition is at revision \($0); what a device has of it, only the device knows" }
                ?? "the partition has no documents and never had one")
    }

    private func explainDocument(
        _ given: String, _ definition: AppDefinition, _ partition: String, _ text: inout ExplanationText
    ) async throws {
        var id = Value.keyText(given: given)
        var places = try await store(definition).places(of: id, app: definition.id)
        if let other = Value.keyTextOfID(given: given) {
            let found = try await store(definition).places(of: other, app: definition.id)
            if !found.isEmpty || places.isEmpty { (id, places) = (other, found) }
        }
        if places.isEmpty {
            text.add("document", ["document": .string(id)], "no collection has a document \(id)")
        }
        for place in places {
            let name = "\(place.namespace.database).\(place.namespace.collection)"
            let state =
                place.partition.isInternal
                ? "in no partition that devices can open"
                : place.partition.text.hasSameBytes(as: partition)
                    ? "in this partition" : "in the partition \(place.partition.text)"
            text.add(
                "document",
                [
                    "collection": .string(name), "partition": .string(place.partition.text),
                    "revision": .string("\(place.revision.epoch).\(place.revision.number)"),
                ],
                "\(id) of \(name) is \(state), at revision \(place.revision.epoch).\(place.revision.number)")
        }
        let tombstones = try await client.query(
            """
            select database || '.' || collection, epoch || '.' || revision,
                to_char(deleted_at at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS')
            from partita.tombstones where app = $1 and partition = $2 and _id = $3 order by 1
            """, [.text(definition.id), .text(partition), .text(id)]
        ).decode((String, String, String).self)
        for (name, revision, at) in tombstones {
            text.add(
                "document", ["collection": .string(name), "leftAt": .string(revision)],
                "\(id) of \(name) was deleted from this partition, or left it, at revision \(revision), \(at) UTC")
        }
    }
}

/// The parts of an explanation as they are found.
private struct ExplanationText {
    private(set) var document = Document()
    private(set) var lines: [String] = []

    mutating func title(_ line: String) { lines.append(line) }

    mutating func add(_ part: String, _ entry: Document, _ line: String) {
        document[part] = .array((document[part]?.arrayValue ?? []) + [.document(entry)])
        lines.append(line)
    }
}

extension Value {
    /// The key text of a value that a person has given: one that isn't in the format of key texts is a string, as most keys are.
    public static func keyText(given text: String) -> String { Value(keyText: text) == nil ? "s:" + text : text }

    /// The key text of an `_id` that a person has given as Extended JSON (`{"$oid": "…"}`), or as the 24 digits of an ObjectId; `nil` for
    /// anything else.
    fileprivate static func keyTextOfID(given text: String) -> String? {
        if let id = ObjectId(hexString: text) { return Value.objectId(id).keyText }
        return text.hasPrefix("{") ? (try? ExtendedJSON.parse(text))?.keyText : nil
    }
}
