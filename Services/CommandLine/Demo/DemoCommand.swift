import EventLoop
import Foundation

/// `partita demo [APP]`: plays the journey of an app on the running system, and checks the results.
enum DemoCommand {
    /// The journeys, by their apps' ids.
    static let journeys: [(app: String, play: @Sendable (DemoStage) async throws -> Void)] = [
        ("rchat", { try await RChatJourney(stage: $0).play() }),
        ("ofish", { try await OFishJourney(stage: $0).play() }),
        ("findourdevices", { try await FindOurDevicesJourney(stage: $0).play() }),
        ("teamwork", { try await TeamworkJourney(stage: $0).play() }),
    ]

    static let command = Command(
        name: "demo",
        summary:
            "Play the journey of an app (\(journeys.map(\.app).joined(separator: ", ")); by default rchat) on the running system, and check the results",
        parameters: ["APP?"],
        options: [
            .init("sample", "only deploy the app and add its sample data"), folderOption, LocalConfiguration.option,
        ]
    ) { arguments in
        let app = arguments.parameter("APP") ?? "rchat"
        let configuration = try LocalConfiguration(arguments: arguments)
        let places = Places(data: arguments.value("data"))
        if arguments.has("sample") {
            _ = try await DemoApp(app, in: arguments.value("apps")).prepare(configuration, on: EventLoop(name: "demo"))
            return
        }
        try await play(app, in: arguments.value("apps"), configuration, places: places)
    }

    static let folderOption = Command.Option(
        "apps", value: "DIR", "the folder with the apps' folders (default: Deploy/apps, or that of the container image)"
    )

    /// - Parameter folder: the folder with the apps' folders; `nil` for the default.
    static func play(
        _ app: String, in folder: String? = nil, _ configuration: LocalConfiguration, places: Places
    ) async throws {
        guard let journey = journeys.first(where: { $0.app == app }) else {
            let names = journeys.map(\.app)
            throw UsageError(
                "no journey of \(app)\(Suggestion.text(for: app, among: names)); there are: \(names.joined(separator: ", "))"
            )
        }
        let loop = EventLoop(name: "demo")
        let settling = try await DemoApp(app, in: folder).prepare(configuration, on: loop)
        let run = String(UUID().uuidString.prefix(8)).lowercased()
        let stores = places.demo + "/\(run)"
        try FileManager.default.createDirectory(atPath: stores, withIntermediateDirectories: true)
        let start = ContinuousClock.now
        try await journey.play(
            DemoStage(
                configuration: configuration, app: app, run: run, folder: stores, loop: loop, settling: settling))
        try FileManager.default.removeItem(atPath: stores)
        Output.line("\nAll of it came out right, in \(Progress.text(ContinuousClock.now - start)).")
    }
}
