import AppDeployment

/// `partita triggers pause|resume TRIGGER`.
enum TriggerPauseCommands {
    static let pause = Command(
        name: "triggers pause",
        summary: "Pause a trigger, also across deployments; what it misses is kept, unless it has skip_catchup_events",
        parameters: ["TRIGGER"], options: [Command.appOption, LocalConfiguration.option]
    ) { arguments in
        let name = try arguments.required("TRIGGER")
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            try await tool.deployments.pauseTrigger(name, of: try await tool.app(arguments.app).id)
            Output.line("\(name) is paused; workers stop running it within seconds")
        }
    }

    static let resume = Command(
        name: "triggers resume", summary: "Resume a paused trigger: first with what it has missed",
        parameters: ["TRIGGER"], options: [Command.appOption, LocalConfiguration.option]
    ) { arguments in
        let name = try arguments.required("TRIGGER")
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            try await tool.deployments.resumeTrigger(name, of: try await tool.app(arguments.app).id)
            Output.line("\(name) is resumed; `partita triggers` shows when it has caught up")
        }
    }
}
