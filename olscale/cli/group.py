"""Command groups: without a command they print help; a mistyped command gets a suggestion."""

import click

from olscale.errors import UnknownNameError


class Group(click.Group):
    """A group whose usage errors help: exit code 2, and a correction on standard error."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Print the help if no command is given."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or name the one that was probably meant."""
        names = self.list_commands(ctx)
        if args[0] not in names and not args[0].startswith("-"):
            ctx.fail(str(UnknownNameError("command", args[0], names)))
        return super().resolve_command(ctx, args)
