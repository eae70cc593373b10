import DocumentModel
import Postgres

/// What the journey of `rchat` reads and changes directly in Postgres.
struct RChatTables: Sendable {
    let stage: DemoStage

    /// Returns why the trigger failed on a message; `nil` until its event is dead-lettered.
    func deadLetter(of message: String) async throws -> String? {
        try await Tool.run(stage.configuration) { tool in
            let rows = try await tool.postgres.query(
                "select trigger || ': ' || message from partita.trigger_failures where event like '%' || $1 || '%'",
                [.text(message)])
            return try rows.first?.decode(0, as: String.self)
        }
    }

    /// Changes a row as an external writer with `psql` would.
    func setText(of message: String, to text: String) async throws {
        try await Tool.run(stage.configuration) { tool in
            _ = try await tool.postgres.execute(
                "update \"rchat/RChat\".\"ChatMessage\" set document = jsonb_set(document, '{text}', to_jsonb($2::text)) where _id = $1",
                [.text("s:" + message), .text(text)])
        }
    }
}
