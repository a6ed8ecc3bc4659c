"""Compile and check descriptions of slangad in Bazel: one action for each target, in persistent workers."""

def _installed_slangad_impl(ctx):
    program = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(program, "#!/bin/sh\nexec slangad \"$@\"\n", is_executable = True)
    return [DefaultInfo(files = depset([program]), executable = program)]

installed_slangad = rule(
    implementation = _installed_slangad_impl,
    doc = "The `slangad` on the PATH of actions and tests.",
    executable = True,
)

def _slangad_kernels_impl(ctx):
    outputs = []
    for target in ctx.attr.targets:
        folder = ctx.actions.declare_directory("{}/{}".format(ctx.label.name, target))
        params = ctx.actions.declare_file("{}.{}.params".format(ctx.label.name, target))
        words = ["compile"] + [file.path for file in ctx.files.srcs]
        words += ["-t", target, "-o", folder.path, "--no-cache", "-j", "1"] + ctx.attr.options
        ctx.actions.write(params, "\n".join(words) + "\n")
        ctx.actions.run(
            executable = ctx.executable.slangad,
            arguments = ["worker", "@" + params.path],
            inputs = ctx.files.srcs + ctx.files.deps + [params],
            outputs = [folder],
            mnemonic = "Slangad",
            progress_message = "slangad {} for {}".format(ctx.label, target),
            use_default_shell_env = True,
            execution_requirements = {"supports-workers": "1", "requires-worker-protocol": "json"},
        )
        outputs.append(folder)
    return [DefaultInfo(files = depset(outputs), runfiles = ctx.runfiles(outputs))]

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

def _slangad_check_test_impl(ctx):
    words = [file.short_path for file in ctx.files.srcs] + ctx.attr.options
    quoted = ["'" + word.replace("'", "'\\''") + "'" for word in words]
    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(
        script,
        "#!/bin/sh\nexport SLANGAD_CACHE_DIR=\"$TEST_TMPDIR/cache\"\nexec ./{} check --report \"svg=$TEST_UNDECLARED_OUTPUTS_DIR/check.svg\" {}\n".format(
            ctx.executable.slangad.short_path,
            " ".join(quoted),
        ),
        is_executable = True,
    )
    runfiles = ctx.runfiles(ctx.files.srcs + ctx.files.deps)
    runfiles = runfiles.merge(ctx.attr.slangad[DefaultInfo].default_runfiles)
    return [DefaultInfo(executable = script, runfiles = runfiles)]

slangad_check_test = rule(
    implementation = _slangad_check_test_impl,
    doc = "A test that fails if a gradient of the descriptions is wrong. Its outputs have a picture of the gradients.",
    attrs = {
        "srcs": attr.label_list(allow_files = [".py", ".yaml", ".slang"], mandatory = True),
        "deps": attr.label_list(allow_files = True, doc = "Files that the descriptions import."),
        "options": attr.string_list(doc = "Options of `slangad check`."),
        "slangad": attr.label(executable = True, cfg = "target", mandatory = True),
    },
    test = True,
)
