import AppDefinition
import DocumentModel
import DocumentStore

/// What tests of `rchat` do.
extension AppWorld {
    func user(_ user: RuleUser) async throws -> Document? {
        try await collection("User").findOne(["_id": .string(user.id)])
    }

    /// The conversation in a user's own list.
    func conversation(_ id: String, of user: RuleUser) async throws -> Value? {
        try await self.user(user)?["conversations"]?.arrayValue?.first { $0["id"]?.stringValue == id }
    }

    /// The members that a user's own list names, sorted.
    func members(_ id: String, of user: RuleUser) async throws -> [String]? {
        try await conversation(id, of: user)?["members"]?.arrayValue?.compactMap { $0["userName"]?.stringValue }
            .sorted()
    }

    /// Changes the user's own document, as a device does.
    func change(_ user: RuleUser, _ update: Document, arrayFilters: [Document] = []) async throws {
        _ = try await collection("User").updateOne(
            ["_id": .string(user.id)], .document(update), options: UpdateOptions(arrayFilters: arrayFilters))
    }

    static func member(_ user: RuleUser) -> Value {
        ["userName": user.data["email"] ?? .null, "membershipStatus": "Membership active"]
    }

    static func conversation(_ id: String, _ members: [RuleUser]) -> Value {
        [
            "id": .string(id), "displayName": "Chat", "unreadCount": .int64(0), "members": .array(members.map(member)),
        ]
    }
}
