import Auth

/// `partita triggers pause|resume TRIGGER`.
enum TriggerPauseCommands {
    static let pause = Command(
        name: "triggers pause",
        summary: "Pause a trigger, also across deployments; what it misses is kept, unless it has skip_catchup_events",
        parameters: ["TRIGGER"], options: [Command.appOption] + AdminSession.options
    ) { arguments in
        let name = try arguments.required("TRIGGER")
        try await AdminSession.run(arguments) { session in
            let app = try await session.app(arguments.app)
            _ = try await session.perform(AdminCall(.pauseTrigger, ["app": app, "trigger": name]))
            Output.line("\(name) is paused; workers stop running it within seconds")
        }
    }

    static let resume = Command(
        name: "triggers resume", summary: "Resume a paused trigger: first with what it has missed",
        parameters: ["TRIGGER"], options: [Command.appOption] + AdminSession.options
    ) { arguments in
        let name = try arguments.required("TRIGGER")
        try await AdminSession.run(arguments) { session in
            let app = try await session.app(arguments.app)
            _ = try await session.perform(AdminCall(.resumeTrigger, ["app": app, "trigger": name]))
            Output.line("\(name) is resumed; `partita triggers` shows when it has caught up")
        }
    }
}
