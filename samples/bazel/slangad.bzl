"""Compile descriptions of slangad in Bazel: one action for each target, in persistent workers."""

def _slangad_kernels_impl(ctx):
    outputs = []
    for target in ctx.attr.targets:
        folder = ctx.actions.declare_directory("{}/{}".format(ctx.label.name, target))
        params = ctx.actions.declare_file("{}.{}.params".format(ctx.label.name, target))
        words = ["compile"] + [file.path for file in ctx.files.srcs]
        words += ["-t", target, "-o", folder.path, "--no-cache", "-j", "1"] + ctx.attr.options
        ctx.actions.write(params, "\n".join(words))
        ctx.actions.run(
            executable = ctx.executable.slangad,
            arguments = ["worker", "@" + params.path],
            inputs = ctx.files.srcs + ctx.files.deps + [params],
            outputs = [folder],
            mnemonic = "Slangad",
            progress_message = "slangad %{label} for " + target,
            execution_requirements = {"supports-workers": "1", "requires-worker-protocol": "json"},
        )
        outputs.append(folder)
    return [DefaultInfo(files = depset(outputs))]

slangad_kernels = rule(
    implementation = _slangad_kernels_impl,
    doc = "Folders with the artefacts and the manifest of the descriptions, one for each target.",
    attrs = {
        "srcs": attr.label_list(allow_files = [".py", ".yaml", ".slang"], mandatory = True),
        "deps": attr.label_list(allow_files = True, doc = "Files that the descriptions import."),
        "targets": attr.string_list(default = ["spirv"]),
        "options": attr.string_list(doc = "Options of `slangad compile`."),
        "slangad": attr.label(executable = True, cfg = "exec", mandatory = True),
    },
)
