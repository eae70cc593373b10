import Auth
import ServiceBootstrap

@main
enum Main {
    static func main() async {
        await ServiceMain(
            name: "auth", summary: "Accounts: sign-up, sign-in, sessions and tokens.", defaultPort: 7001,
            keys: AuthKeys.all
        ).run { context in
            let auth = try AuthServer(
                configuration: AuthConfiguration(context.configuration), on: context.loops, logger: context.logger)
            auth.addRoutes(to: &context.router)
            context.http.cors = auth.cors
            for component in auth.components { context.readiness.add(component.name, check: component.check) }
            return [auth]
        }
    }
}
